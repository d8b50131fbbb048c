// Claims about records: what kafkajs produced is what it consumes, at the offset it was told.
'use strict'
const { assert, claim, CompressionTypes, fresh, refused } = require('./world')
const { randomBytes } = require('crypto')

async function roundTrip(world, compression) {
  const topic = await world.topic('codec')
  const producer = await world.producer()
  const messages = Array.from({ length: 1000 }, (_, i) => ({
    key: `k${i % 7}`, value: `value-${i}-${'x'.repeat(i % 300)}`, partition: 0, timestamp: String(1700000000000 + i),
    headers: { h: String(i) },
  }))
  const [answer] = await producer.send({ topic, messages, compression })
  assert.strictEqual(answer.baseOffset, '0')
  const got = await world.read(topic, 1000)
  assert.deepStrictEqual(got.map(m => m.offset), messages.map((_, i) => String(i)))
  got.forEach((m, i) => {
    assert.strictEqual(m.value.toString(), messages[i].value)
    assert.strictEqual(m.key.toString(), messages[i].key)
    assert.strictEqual(m.timestamp, messages[i].timestamp)
    assert.strictEqual(m.headers.h.toString(), messages[i].headers.h)
  })
}

claim('batches_come_back_whole_without_a_codec', world => roundTrip(world, CompressionTypes.None))
claim('batches_come_back_whole_with_gzip', world => roundTrip(world, CompressionTypes.GZIP))
claim('batches_come_back_whole_with_snappy', world => roundTrip(world, CompressionTypes.Snappy))
claim('batches_come_back_whole_with_lz4', world => roundTrip(world, CompressionTypes.LZ4))
claim('batches_come_back_whole_with_zstd', world => roundTrip(world, CompressionTypes.ZSTD))

claim('headers_keep_duplicates_and_bytes', async world => {
  const topic = await world.topic('headers')
  const producer = await world.producer()
  const bytes = randomBytes(256)
  await producer.send({ topic, messages: [{ value: 'v', headers: { many: ['1', '2', '1'], bytes, empty: '' } }] })
  const [{ headers }] = await world.read(topic, 1)
  assert.deepStrictEqual(headers.many.map(String), ['1', '2', '1'])
  assert.ok(headers.bytes.equals(bytes))
  assert.strictEqual(headers.empty.length, 0)
})

claim('null_and_empty_keys_and_values_stay_apart', async world => {
  const topic = await world.topic('null')
  const producer = await world.producer()
  const sent = [[null, 'v'], ['', 'v'], ['k', null], ['k', '']]
  await producer.send({ topic, messages: sent.map(([key, value]) => ({ key, value, partition: 0 })) })
  const got = (await world.read(topic, 4)).map(m => [m.key, m.value].map(b => (b === null ? null : b.toString())))
  assert.deepStrictEqual(got, sent)
})

async function withAcks(world, acks) {
  const topic = await world.topic('acks')
  const producer = await world.producer()
  const messages = Array.from({ length: 100 }, (_, i) => ({ value: String(i), partition: 0 }))
  await producer.send({ topic, acks, messages })
  const got = await world.read(topic, 100)
  assert.deepStrictEqual(got.map(m => m.value.toString()), messages.map(m => m.value))
}

claim('records_arrive_with_acks_0', world => withAcks(world, 0))
claim('records_arrive_with_acks_1', world => withAcks(world, 1))
claim('records_arrive_with_acks_all', world => withAcks(world, -1))

claim('eight_producers_on_one_partition_read_at_their_returned_offsets', async world => {
  const topic = await world.topic('eight')
  const returned = new Map()
  await Promise.all(Array.from({ length: 8 }, async (_, p) => {
    const producer = await world.producer()
    for (let i = 0; i < 50; i++) {
      const [answer] = await producer.send({ topic, messages: [{ value: `${p}-${i}-a`, partition: 0 }, { value: `${p}-${i}-b`, partition: 0 }] })
      returned.set(Number(answer.baseOffset), `${p}-${i}-a`)
      returned.set(Number(answer.baseOffset) + 1, `${p}-${i}-b`)
    }
  }))
  assert.strictEqual(returned.size, 800)
  for (const m of await world.read(topic, 800)) assert.strictEqual(m.value.toString(), returned.get(Number(m.offset)))
})

claim('idempotent_producers_get_contiguous_offsets', async world => {
  const topic = await world.topic('idempotent')
  const producer = await world.producer({ idempotent: true, maxInFlightRequests: 1 })
  for (let i = 0; i < 50; i++) {
    const [answer] = await producer.send({ topic, messages: Array.from({ length: 10 }, (_, j) => ({ value: String(i * 10 + j), partition: 0 })) })
    assert.strictEqual(answer.baseOffset, String(i * 10))
  }
  const got = await world.read(topic, 500)
  got.forEach((m, i) => assert.strictEqual(m.value.toString(), String(i)))
})

claim('a_batch_above_max_message_bytes_is_refused', async world => {
  const topic = await world.topic('large', 1, [{ name: 'max.message.bytes', value: '50000' }])
  const producer = await world.producer({ retry: { retries: 0 } })
  await refused(() => producer.send({ topic, messages: [{ value: randomBytes(60000) }] }), 'MESSAGE_TOO_LARGE', 'a large batch')
  await producer.send({ topic, messages: [{ value: 'small' }] })
  assert.strictEqual((await world.read(topic, 1))[0].offset, '0')
})

claim('ten_megabytes_of_large_records_come_back', async world => {
  const topic = await world.topic('ten')
  const producer = await world.producer()
  const sent = Array.from({ length: 11 }, () => randomBytes(900000))
  for (const value of sent) await producer.send({ topic, messages: [{ value }] })
  const got = await world.read(topic, 11)
  got.forEach((m, i) => assert.ok(m.value.equals(sent[i]), `record ${i}`))
})

claim('a_topic_is_created_by_the_first_produce', async world => {
  const topic = fresh('auto')
  const producer = await world.producer({ allowAutoTopicCreation: true })
  await producer.send({ topic, messages: [{ value: 'v' }] })
  assert.strictEqual((await world.read(topic, 1))[0].value.toString(), 'v')
})
