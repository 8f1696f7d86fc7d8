import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { SELLER } from '../../../test/engine/test-rail.ts'
import { PAYER, testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { ChallengeRow, Delivery, ReceiptRow } from '../../ports.ts'
import type { Statement } from '../../protocol/receipts.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { confirmPayments } from '../settle/confirm.ts'
import { settledOutcome } from './settled-outcome.ts'
import { receiptFields, urlField } from './sign-receipt.ts'

const FIRST = `0x${'01'.repeat(32)}` as const
const SECOND = `0x${'02'.repeat(32)}` as const
const KEY = 'the payment'

/** A core whose signer numbers what it signs. */
function signingCore() {
  const statements: Statement[] = []
  const delivery: Delivery = {
    instant: true,
    deliver: () => Promise.reject(new Error('it was delivered before')),
    expiryOf: () => null,
    open: async ({ challengeId }) => ({ type: 'AccessGrant', challengeId }) as never,
  }
  const receipts = { sign: (statement: Statement) => `signed ${statements.push(statement)}` }
  return { ...testCore({ clock: createFakeClock(9_000_500), delivery, receipts }), statements }
}

const delivered = (change: Partial<ChallengeRow> = {}) =>
  testChallenge({
    ...{ key: 'http-1', state: 'DELIVERED', payer: PAYER, txHash: FIRST, paidAt: 5, receipt: KEY },
    ...{ result: 'sealed', signedReceipt: 'signed before', ...change },
  })

async function stored(row: ChallengeRow) {
  const { core, rail, store, statements } = signingCore()
  const receipt: ReceiptRow = {
    ...{ key: KEY, version: 0, ref: row.key, dueAt: null, challengeId: row.key, rail: rail.id, role: 'pays' },
    ...{ source: { kind: 'payment' }, payer: PAYER, value: '10', txHash: FIRST, logIndex: 0, blockNumber: 5 },
    ...{ blockHash: '0x5', fromHeight: 0, finalized: false, lost: false },
  }
  const attempt = testAttempt({ key: KEY, challengeId: row.key, phase: 'CONFIRMED' })
  const puts = [
    { table: 'challenges' as const, row },
    { table: 'receipts' as const, row: receipt },
    { table: 'authorizations' as const, row: attempt },
  ]
  await store.commit({ puts })
  /** The chain shows the payment in this transaction, in another block than before. */
  async function move(txHash: typeof FIRST) {
    const [known] = await store.get('authorizations', [KEY])
    const block = { number: 6, hash: '0x6', timestamp: 12 } as const
    const place = { kind: 'transfer', key: KEY, block, txHash, logIndex: 1 } as const
    const use = { ...place, from: PAYER, to: SELLER, value: '10' }
    expect(await confirmPayments(core, rail, [{ attempt: known!, use }])).toEqual(new Set([KEY]))
    return (await store.get('challenges', [row.key]))[0]
  }
  return { core, statements, move }
}

const replay = (core: ReturnType<typeof signingCore>['core']) =>
  settledOutcome(core, {
    challengeId: 'http-1',
    owner: { payer: PAYER, network: 'eip155:84532', byKey: true },
    deadline: 0,
    fresh: false,
    responder: { kind: 'embedded' },
  })

test('a replay has the stored receipt, and signs none', async () => {
  const { core, statements } = await stored(delivered())
  expect(await replay(core)).toMatchObject({
    kind: 'granted',
    settled: { receipt: 'signed before' },
    cached: true,
  })
  expect(statements).toEqual([])
})

test('a purchase of an earlier version is replayed without a receipt, and gets none later', async () => {
  const { signedReceipt: _, ...earlier } = delivered()
  const { core, statements, move } = await stored(earlier)
  const outcome = await replay(core)
  expect(outcome).toMatchObject({ kind: 'granted', cached: true })
  expect(outcome).not.toHaveProperty('settled.receipt')
  expect(await move(SECOND)).toMatchObject({ txHash: SECOND })
  expect(await move(SECOND)).not.toHaveProperty('signedReceipt')
  expect(statements).toEqual([])
})

test('a reorganisation that gives the payment another transaction makes another receipt, once', async () => {
  const { statements, move } = await stored(delivered())
  expect(await move(SECOND)).toMatchObject({ txHash: SECOND, signedReceipt: 'signed 1' })
  expect(await move(SECOND)).toMatchObject({ signedReceipt: 'signed 1' })
  expect(statements).toEqual([
    {
      version: 1,
      network: 'eip155:84532',
      resourceUrl: 'http://localhost/x402/access',
      payer: PAYER,
      issuedAt: 9000,
      transaction: SECOND,
    },
  ])
})

test('another block with the same transaction leaves the receipt as it is', async () => {
  const { statements, move } = await stored(delivered())
  expect(await move(FIRST)).toMatchObject({ txHash: FIRST, signedReceipt: 'signed before' })
  expect(statements).toEqual([])
})

test('what is paid and not delivered yet has no receipt after a reorganisation either', async () => {
  const { signedReceipt: _, ...paid } = delivered({ state: 'PAID', result: null })
  const { statements, move } = await stored(paid)
  expect(await move(SECOND)).toMatchObject({ txHash: SECOND })
  expect(statements).toEqual([])
})

test('the receipt that went out with the answer is stored, unless its transaction was replaced since', () => {
  const { core } = signingCore()
  const sent = { transaction: FIRST, jws: 'sent' }
  expect(receiptFields(core, delivered(), 0, sent)).toEqual({ signedReceipt: 'sent' })
  expect(receiptFields(core, delivered({ txHash: SECOND }), 0, sent)).toEqual({ signedReceipt: 'signed 1' })
})

test('a row keeps the address of its call only where it is not below the base URL', () => {
  const { core } = signingCore()
  const row = testChallenge({ key: 'http-1', resource: { method: 'GET', path: '/weather' } })
  expect(urlField(core, row, 'http://localhost/weather')).toEqual({})
  expect(urlField(core, row, 'https://shop.example/weather')).toEqual({ url: 'https://shop.example/weather' })
})
