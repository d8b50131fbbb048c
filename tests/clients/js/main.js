// Runs one claim about kafkajs: `node main.js BOOTSTRAP CLAIM`; exit code 1 and a line when it does not hold.
'use strict'
const { claims, World } = require('./world')
require('./records')
require('./groups')
require('./admin')

async function main() {
  const [bootstrap, name] = process.argv.slice(2)
  if (!claims[name]) throw new Error(`no claim ${name}`)
  const world = new World(bootstrap)
  try {
    await claims[name](world)
  } finally {
    await world.close()
  }
}

main().then(
  () => process.exit(0),
  error => {
    console.error(`${error.name}: ${error.message}`)
    process.exit(1)
  },
)
