// Claims about kafkajs's admin operations.
'use strict'
const { assert, claim, eventually, fresh, refused } = require('./world')

claim('topics_are_created_grown_deleted_and_created_again', async world => {
  const admin = await world.admin()
  const topic = await world.topic('admin', 2)
  await refused(() => admin.createTopics({ topics: [{ topic }] }).then(made => { if (!made) throw Object.assign(new Error('exists'), { type: 'TOPIC_ALREADY_EXISTS' }) }), 'TOPIC_ALREADY_EXISTS', 'creating it twice')
  await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] })
  await eventually(async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length === 5, 'five partitions')
  const producer = await world.producer()
  await producer.send({ topic, messages: [{ value: 'old', partition: 0 }] })
  await admin.deleteTopics({ topics: [topic] })
  await eventually(async () => !(await admin.listTopics()).includes(topic), 'the topic is gone')
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] })
  const again = await world.producer()
  const [answer] = await again.send({ topic, messages: [{ value: 'new', partition: 0 }] })
  assert.strictEqual(answer.baseOffset, '0')
  assert.strictEqual((await world.read(topic, 1))[0].value.toString(), 'new')
})

claim('configs_are_described_and_altered', async world => {
  const admin = await world.admin()
  const topic = await world.topic('configs', 1, [{ name: 'retention.ms', value: '1234567' }])
  const described = async () => {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: topic }] })
    return Object.fromEntries(resources[0].configEntries.map(e => [e.configName, e.configValue]))
  }
  assert.strictEqual((await described())['retention.ms'], '1234567')
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topic, configEntries: [{ name: 'max.message.bytes', value: '70000' }] }] })
  await eventually(async () => (await described())['max.message.bytes'] === '70000', 'the new value')
  // AlterConfigs replaces all: what it does not name returns to the default.
  assert.strictEqual((await described())['retention.ms'], '604800000')
})

claim('offsets_are_listed_by_time_and_records_deleted', async world => {
  const admin = await world.admin()
  const topic = await world.topic('offsets')
  const producer = await world.producer()
  const messages = Array.from({ length: 50 }, (_, i) => ({ value: String(i), partition: 0, timestamp: String(1700000000000 + i * 1000) }))
  await producer.send({ topic, messages })
  assert.strictEqual((await admin.fetchTopicOffsetsByTimestamp(topic, 1700000020500))[0].offset, '21')
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '30' }] })
  const [offsets] = await admin.fetchTopicOffsets(topic)
  assert.deepStrictEqual([offsets.low, offsets.high], ['30', '50'])
})

claim('groups_are_listed_described_and_deleted', async world => {
  const admin = await world.admin()
  const [topic, group] = [await world.topic('groups', 2), fresh('g')]
  const member = await world.member(group, topic, [])
  await eventually(() => member.partitions.length === 2, 'an assignment')
  assert.ok((await admin.listGroups()).groups.some(g => g.groupId === group))
  const { groups: [described] } = await admin.describeGroups([group])
  assert.strictEqual(described.state, 'Stable')
  assert.strictEqual(described.members.length, 1)
  await refused(() => admin.deleteGroups([group]), 'NON_EMPTY_GROUP', 'deleting a group with a member')
    .catch(error => { if (!/NON_EMPTY|not empty/i.test(error.message)) throw error })
  await member.consumer.disconnect()
  await eventually(async () => (await admin.describeGroups([group])).groups[0].state === 'Empty', 'an empty group')
  await admin.deleteGroups([group])
  assert.ok(!(await admin.listGroups()).groups.some(g => g.groupId === group))
})

claim('the_cluster_is_one_broker', async world => {
  const { brokers, controller, clusterId } = await (await world.admin()).describeCluster()
  assert.strictEqual(brokers.length, 1)
  assert.strictEqual(controller, 1)
  assert.ok(clusterId)
})
