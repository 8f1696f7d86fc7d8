import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt, testChallenge } from '../../../test/engine/test-rows.ts'
import type { ReceiptRow, Store } from '../../ports.ts'
import { holdGas, settleGas } from '../budgets/gas-budget.ts'
import { holdAgain } from '../metered/hold-again.ts'
import { confirmPayments } from './confirm.ts'
import { followReceipts } from './follow-receipts.ts'
import { createResolver } from './resolve.ts'

const NOW = { number: 7, hash: '0x7', timestamp: 100 } as const
const FINAL = { number: 1, hash: '0x1', timestamp: 1 } as const

function receiptOf(rail: string, payer: ReceiptRow['payer']): ReceiptRow {
  return {
    ...{ key: 'a', version: 0, ref: 'c', dueAt: 1, challengeId: 'c', rail, source: { kind: 'payment' } },
    ...{ role: 'pays', payer, value: '10', txHash: '0x1', logIndex: 1, blockNumber: 6, blockHash: '0x6' },
    ...{ fromHeight: 1, finalized: false, lost: false },
  }
}

const delivered = (more: object = {}) => {
  const paid = { payer: '0xaa', txHash: '0x1', paidAt: 1, receipt: 'a' } as const
  return testChallenge({ key: 'c', state: 'DELIVERED', expiresAt: 9e15, claimed: true, ...paid, ...more })
}

const transferOf = ({ payTo }: { payTo: `0x${string}` }, from: `0x${string}`, block: object) => ({
  ...{ kind: 'transfer' as const, key: 'a', txHash: '0x2' as const, block: block as never },
  ...{ from, to: payTo, value: '10', logIndex: 2 },
})

const holdsOf = (store: Store, key: string) => store.list('holds', key.slice(0, key.lastIndexOf(':')))

/** A rail on which every payer has code, and whose sends are counted. */
function smartWallets(gas: number) {
  let sent = 0
  const rail = testRail({
    chain: { head: async () => ({ latest: NOW, finalized: FINAL }), mined: async () => [] },
    scheme: {
      uses: async () => ({ at: NOW, found: [], mined: [] }),
      simulate: async (payments) => ({
        at: NOW,
        results: payments.map(() => ({ kind: 'ok' as const, alone: true, gas })),
      }),
    },
    settlement: {
      gasWallet: '0x1',
      gasPriceWei: async () => 1_000_000_000_000_000n,
      unavailable: async () => undefined,
      makeBatches: async (items) =>
        items.map(({ member }) => ({
          ...{ keys: [member.key], puts: [], walletTx: 'tx2', drop: () => {} },
          async send() {
            sent++
            return { kind: 'sent' as const }
          },
        })),
    },
  })
  return { rail, sent: () => sent }
}

test('a payment that a reorganisation undid counts in the gas budget while it is sent again', async () => {
  const wallets = smartWallets(100)
  const lostGasPerDay = { perPayer: 100_000, inAll: 100_000 }
  const { core, rail, store } = testCore({
    rails: [wallets.rail],
    config: { lostGasPerDay, leaseMs: 10_000 },
  })
  const base = testAttempt({ key: 'a', challengeId: 'c', phase: 'BROADCAST', sends: 1, walletTx: 'tx1' })
  const attempt = { ...base, auth: { ...base.auth, validBefore: '999' } }
  const challenge = testChallenge({ key: 'c', expiresAt: 9e15, claimed: true, liveAuth: 'a' })
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row: attempt },
    ],
  })
  const { held } = await holdGas(core, rail, [{ row: { ...attempt, version: 1 }, alone: true, gas: 100 }])
  const { row } = held[0]!
  const [budget] = row.gasHolds!
  expect(await holdsOf(store, budget!)).toHaveLength(1)
  await confirmPayments(core, rail, [{ attempt: row, use: transferOf(challenge, row.payer, NOW) }])
  await settleGas(core, [row], 'returned')
  expect(await holdsOf(store, budget!)).toHaveLength(0)
  const [receipt] = await store.get('receipts', ['a'])
  const resolver = createResolver(core, rail)
  await followReceipts(core, rail, resolver, [receipt!])
  const [again] = await store.get('authorizations', ['a'])
  expect([again!.phase, wallets.sent()]).toEqual(['BROADCAST', 1])
  expect(await holdsOf(store, budget!)).toHaveLength(1)
  await resolver.refused(again!, 'reverted')
  resolver.stop()
  expect(await holdsOf(store, budget!)).toMatchObject([{ spent: true }])
})

test('a payment that a reorganisation undid is sent again even if its payer has no gas budget left', async () => {
  const wallets = smartWallets(1_000_000)
  const { core, rail, store } = testCore({
    rails: [wallets.rail],
    config: { lostGasPerDay: { perPayer: 1, inAll: 1 }, leaseMs: 10_000 },
  })
  const base = testAttempt({ key: 'a', challengeId: 'c', phase: 'CONFIRMED', sends: 1, walletTx: 'tx1' })
  const attempt = { ...base, auth: { ...base.auth, validBefore: '999' } }
  const receipt = receiptOf(rail.id, base.payer)
  await store.commit({
    puts: [
      { table: 'challenges', row: delivered() },
      { table: 'authorizations', row: attempt },
      { table: 'receipts', row: receipt },
    ],
  })
  const resolver = createResolver(core, rail)
  await followReceipts(core, rail, resolver, [{ ...receipt, version: 1 }])
  resolver.stop()
  expect(wallets.sent(), 'what it paid for is out').toBe(1)
})

test('a metered charge that a reorganisation undid, and that is mined again, holds nothing any more', async () => {
  const metered = testRail({ scheme: { metered: { charged: (signed) => signed } } })
  const { core, store } = testCore({ rails: [testRail(), { ...metered, id: 'metered' }] })
  const rail = core.rails.find('metered')!
  const challenge = delivered({ rail: 'metered' })
  const base = {
    ...testAttempt({ key: 'a', challengeId: 'c', phase: 'CONFIRMED', sends: 1 }),
    rail: 'metered',
  }
  const { row, puts } = await holdAgain(core, rail, base)
  const again = { ...row, phase: 'BROADCAST' as const }
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'authorizations', row: again },
      { table: 'receipts', row: receiptOf('metered', base.payer) },
      ...puts,
    ],
  })
  const use = transferOf(challenge, base.payer, { ...NOW, number: 8 })
  await confirmPayments(core, rail, [{ attempt: { ...again, version: 1 }, use }])
  await expect.poll(() => holdsOf(store, again.exposure!)).toEqual([])
  expect((await store.get('authorizations', ['a']))[0]).toMatchObject({ phase: 'CONFIRMED' })
})
