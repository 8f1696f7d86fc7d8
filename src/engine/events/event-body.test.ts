import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { MAINNET, SELLER, testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { runRefunds } from '../refund/run-refunds.ts'
import { confirmPayments } from '../settle/confirm.ts'
import { eventBody } from './event-body.ts'
import { recordingEvents } from './record-events.ts'

const FIRST = `0x${'bb'.repeat(20)}` as const
const SECOND = `0x${'aa'.repeat(20)}` as const
const SURPLUS = `0x${'a1'.repeat(32)}` as const
const RETURN = `0x${'a2'.repeat(32)}` as const
const FINAL = { number: 9, hash: '0x9', timestamp: 100 } as const

test('what a second payer pays on another network is told as theirs, and so is its refund', async () => {
  const store = recordingEvents(createMemoryStore(), [{ id: 'e', url: 'http://x', events: null }])
  let uses: never[] = []
  const seen = {
    chain: { head: async () => ({ latest: FINAL, finalized: FINAL }) },
    scheme: { uses: async () => ({ at: FINAL, found: uses, mined: [] }) },
  }
  const { core } = testCore({ store, rails: [testRail(seen), testRail({ ...seen, network: MAINNET })] })
  const [paidOn, other] = core.rails.all
  const paid = { state: 'DELIVERED', payer: FIRST, txHash: `0x${'b1'.repeat(32)}`, receipt: 'r0' } as const
  const challenge = testChallenge(
    { key: 'http-c', claimed: true, paidAt: 1, expiresAt: 9e15, amount: '10', ...paid },
    { rail: paidOn! },
  )
  const attempt = testAttempt({ key: 'a', challengeId: 'http-c', payer: SECOND, phase: 'ABANDONED' }, other!)
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row: attempt },
    ],
  })
  const use = { kind: 'transfer', key: 'a', txHash: SURPLUS, block: FINAL, logIndex: 1, value: '10' } as const
  const paying = { ...use, from: SECOND, to: SELLER } as never
  await confirmPayments(core, other!, [{ attempt: { ...attempt, version: 1 }, use: paying }])
  const [refund] = await store.get('refunds', ['a'])
  const sent = {
    ...{ ...refund!, phase: 'BROADCAST' as const },
    auth: { ...attempt.auth, from: SELLER, to: SECOND },
  }
  await store.commit({ puts: [{ table: 'refunds', row: sent }] })
  const { key } = other!.scheme.factsOf(sent.auth)
  uses = [{ ...use, key, txHash: RETURN, from: SELLER, to: SECOND } as never]
  await runRefunds(core, other!, [{ ...sent, version: sent.version + 1 }])

  const [row] = await store.get('challenges', ['http-c'])
  const told = (await store.list('webhooks', 'e/http-c')).map((event) =>
    eventBody(event, row, core.rails.explorerTxUrl),
  )
  const theirs = { network: MAINNET.id, asset: MAINNET.token.address, payer: SECOND }
  const at = core.rails.explorerTxUrl(MAINNET.id)
  expect(told).toMatchObject([
    { type: 'refund.pending', data: { ...theirs, txHash: SURPLUS, explorerUrl: `${at}${SURPLUS}` } },
    { type: 'refund.settled', data: { ...theirs, refund: { of: 'surplus', value: '10', txHash: RETURN } } },
  ])
  expect(told[1]!.data, 'the other payment is not theirs').not.toHaveProperty('txHash')
})
