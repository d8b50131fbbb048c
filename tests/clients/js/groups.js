// Claims about consumer groups of kafkajs.
'use strict'
const { assert, claim, eventually, fresh } = require('./world')

const all = numbers => numbers.slice().sort((a, b) => a - b)

claim('three_members_share_a_group_while_members_join_and_leave', async world => {
  const [topic, group] = [await world.topic('group', 6), fresh('g')]
  const producer = await world.producer()
  const seen = []
  let sent = 0
  const produce = async count => {
    const messages = Array.from({ length: count }, (_, i) => ({ value: String(sent + i), partition: i % 6 }))
    await producer.send({ topic, messages })
    sent += count
  }
  const members = []
  const settled = count => eventually(() => {
    const parts = members.map(m => m.partitions).filter(p => p.length)
    return parts.length === count && all(parts.flat()).join() === '0,1,2,3,4,5'
  }, `${count} members share all partitions`, 30)

  await produce(120)
  members.push(await world.member(group, topic, seen), await world.member(group, topic, seen))
  await settled(2)
  await produce(120)
  members.push(await world.member(group, topic, seen))
  await settled(3)
  await produce(120)
  await eventually(() => seen.length >= sent, 'every record so far')
  await members[0].consumer.disconnect()
  members.shift()
  await settled(2)
  await produce(120)
  await eventually(() => seen.length >= sent, 'every record after one left')
  assert.deepStrictEqual(all(seen.map(m => Number(m.value))), Array.from({ length: sent }, (_, i) => i))
  for (const { consumer } of members) await consumer.disconnect()
  const [{ partitions }] = await (await world.admin()).fetchOffsets({ groupId: group, topics: [topic] })
  assert.deepStrictEqual(partitions.map(p => p.offset), Array(6).fill(String(sent / 6)))
})

claim('a_group_seeks_and_resumes_at_its_committed_offset', async world => {
  const [topic, group] = [await world.topic('resume'), fresh('g')]
  const producer = await world.producer()
  await producer.send({ topic, messages: Array.from({ length: 100 }, (_, i) => ({ value: String(i), partition: 0 })) })
  const admin = await world.admin()
  await admin.setOffsets({ groupId: group, topic, partitions: [{ partition: 0, offset: '60' }] })
  const seen = []
  const { consumer } = await world.member(group, topic, seen)
  await eventually(() => seen.length >= 40, '40 records')
  assert.strictEqual(seen[0].offset, '60')
  seen.length = 0
  consumer.seek({ topic, partition: 0, offset: '90' })
  await eventually(() => seen.length >= 10, '10 records after the seek')
  assert.strictEqual(seen[0].offset, '90')
})
