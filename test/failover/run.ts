import { postgresFailover, postgresStall } from './postgres-failover.ts'
import { redisFailover, redisLoss } from './redis-failover.ts'
import { restore } from './restore.ts'
import { rotation } from './rotation.ts'
import { FULL, lineOf, type Scenario, SMALL } from './scenario.ts'
import { secretRotation } from './secret-rotation.ts'
import { tokenRotation } from './token-rotation.ts'
import { upgrade } from './upgrade.ts'

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'postgres-failover': postgresFailover,
  'postgres-stall': postgresStall,
  'redis-failover': redisFailover,
  'redis-loss': redisLoss,
  restore,
  rotation,
  'secret-rotation': secretRotation,
  'token-rotation': tokenRotation,
  upgrade,
}

const USAGE = `npm run failover -- [--small] [scenario …]
  scenarios: ${Object.keys(SCENARIOS).join(', ')} (default: all)
  --small: as few purchases as in npm test`

async function main(args: readonly string[]): Promise<boolean> {
  const size = args.includes('--small') ? SMALL : FULL
  const named = args.filter((arg) => arg !== '--small')
  const unknown = named.find((name) => !Object.hasOwn(SCENARIOS, name))
  if (unknown !== undefined) {
    console.error(`${JSON.stringify(unknown)} is no scenario.\n\n${USAGE}`)
    return false
  }
  let held = true
  for (const name of named.length > 0 ? named : Object.keys(SCENARIOS)) {
    const startedMs = performance.now()
    const verdict = await SCENARIOS[name]!(size)
    held &&= verdict.faults.length === 0
    console.log(`${lineOf(verdict)} (${((performance.now() - startedMs) / 1000).toFixed(0)} s)`)
    for (const fault of verdict.faults) console.log(`  ${fault}`)
  }
  return held
}

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1
