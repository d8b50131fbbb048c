// What the claims work with: a client, fresh names, codecs, waiting; everything opened is closed at the end.
'use strict'
const { Kafka, logLevel, Partitioners, CompressionTypes, CompressionCodecs } = require('kafkajs')
const assert = require('assert')
const snappy = require('snappyjs')
const lz4 = require('lz4js')

const claims = {}
const claim = (name, run) => { claims[name] = run }

// Snappy as Kafka's Java client frames it: a magic header, then blocks with their length.
const SNAPPY_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1])
CompressionCodecs[CompressionTypes.Snappy] = () => ({
  async compress(encoder) {
    const block = Buffer.from(snappy.compress(encoder.buffer))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(block.length)
    return Buffer.concat([SNAPPY_MAGIC, length, block])
  },
  async decompress(buffer) {
    if (!buffer.subarray(0, 8).equals(SNAPPY_MAGIC.subarray(0, 8))) return Buffer.from(snappy.uncompress(buffer))
    const parts = []
    for (let at = 16; at < buffer.length;) {
      const length = buffer.readUInt32BE(at)
      parts.push(Buffer.from(snappy.uncompress(buffer.subarray(at + 4, at + 4 + length))))
      at += 4 + length
    }
    return Buffer.concat(parts)
  },
})
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  async compress(encoder) {
    // lz4js calls its blocks linked, which Kafka refuses; a frame of one block (below 4 MiB) is not.
    const frame = Buffer.from(lz4.compress(encoder.buffer))
    frame.set([0x60, 0x70, 0x73], 4)
    return frame
  },
  async decompress(buffer) { return Buffer.from(lz4.decompress(buffer)) },
})
const zstd = new Promise(resolve => require('zstd-codec').ZstdCodec.run(z => resolve(new z.Simple())))
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  async compress(encoder) { return Buffer.from((await zstd).compress(encoder.buffer)) },
  async decompress(buffer) { return Buffer.from((await zstd).decompress(buffer)) },
})

let counter = 0
const fresh = prefix => `${prefix}-js-${process.pid}-${Date.now() % 1e8}-${counter++}`
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

async function eventually(check, what, seconds = 20) {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const got = await check()
    if (got) return got
    if (Date.now() > end) throw new Error(`not seen within ${seconds} s: ${what}`)
    await sleep(100)
  }
}

class World {
  constructor(bootstrap) {
    this.kafka = new Kafka({
      clientId: 'claims', brokers: [bootstrap], logLevel: logLevel.NOTHING,
      retry: { initialRetryTime: 100, retries: 8 },
    })
    this.opened = []
  }

  async close() {
    for (const one of this.opened.reverse()) await one.disconnect().catch(() => {})
  }

  async producer(settings = {}) {
    const producer = this.kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, ...settings })
    await producer.connect()
    this.opened.push(producer)
    return producer
  }

  async admin() {
    const admin = this.kafka.admin()
    await admin.connect()
    this.opened.push(admin)
    return admin
  }

  async topic(prefix, numPartitions = 1, configEntries = []) {
    const topic = fresh(prefix)
    await (await this.admin()).createTopics({ topics: [{ topic, numPartitions, configEntries }] })
    return topic
  }

  // A consumer of `groupId` that puts what it reads into `sink`; commits after each record.
  async member(groupId, topic, sink, settings = {}) {
    const consumer = this.kafka.consumer({ groupId, rebalanceTimeout: 10000, heartbeatInterval: 500, maxWaitTimeInMs: 200, ...settings })
    const one = { consumer, partitions: [] }
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => { one.partitions = payload.memberAssignment[topic] || [] })
    await consumer.connect()
    this.opened.push(consumer)
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(message.offset) + 1n) }])
        sink.push({ partition, ...message })
      },
    })
    return one
  }

  // Every record of a topic, once `count` have come.
  async read(topic, count, settings = {}) {
    const got = []
    const consumer = this.kafka.consumer({ groupId: fresh('reader'), maxWaitTimeInMs: 200, ...settings })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({ eachMessage: async ({ partition, message }) => { got.push({ partition, ...message }) } })
    try {
      await eventually(() => got.length >= count, `${count} records`, 40)
    } finally {
      await consumer.disconnect()
    }
    return got
  }
}

async function refused(action, type, what) {
  try {
    await action()
  } catch (error) {
    const inner = error.cause || error
    const types = [inner.type, error.type, ...(error.errors || []).map(one => one.type)]
    if (types.includes(type)) return
    throw new Error(`${what}: got ${types} ${error.message}, want ${type}`)
  }
  throw new Error(`${what}: was accepted, want ${type}`)
}

module.exports = { assert, claim, claims, CompressionTypes, eventually, fresh, refused, sleep, World }
