import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testChallenge } from '../../../test/engine/test-rows.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { requestPointer } from '../challenge/open-challenge.ts'
import { createAccounts } from '../credits/accounts.ts'
import { runJobs } from './run-jobs.ts'

test('a deleted challenge is deleted together with every name that led to it', async () => {
  const { core, store } = testCore({ clock: createFakeClock(10_000) })
  const row = testChallenge({
    key: 'mcp-x',
    requestId: 'mcp-second',
    transport: 'mcp',
    state: 'EXPIRED',
    earlierNames: ['mcp-first'],
  })
  const names = ['mcp-first', 'mcp-second', 'another']
  await store.commit({
    puts: [
      { table: 'challenges', row },
      requestPointer({ ...row, requestId: 'mcp-first' }),
      requestPointer(row),
      requestPointer({ ...row, key: 'http-y', requestId: 'another' }),
    ],
  })
  await runJobs(core, createAccounts(core), () => {
    throw new Error('no payment is under way')
  })
  expect(await store.get('challenges', ['mcp-x'])).toEqual([undefined])
  expect(await store.get('requests', names)).toEqual([
    undefined,
    undefined,
    expect.objectContaining({ challengeId: 'http-y' }),
  ])
})
