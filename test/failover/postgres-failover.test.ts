import { expect, test } from 'vitest'
import { postgresFailover } from './postgres-failover.ts'
import { SMALL } from './scenario.ts'

test('the primary is killed under load, the standby is promoted: nothing acknowledged is lost, nobody pays twice', async () => {
  expect((await postgresFailover(SMALL)).faults).toEqual([])
})
