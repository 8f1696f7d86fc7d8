import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import { GatewayError } from '../../errors.ts'
import type { CreditRow, ReceiptRow } from '../../ports.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { getOne } from '../core.ts'
import { accountOf } from '../ownership/lots.ts'
import { retryRefund } from '../refund/retry-refund.ts'
import { runRefunds } from '../refund/run-refunds.ts'
import { loseReceipt } from '../settle/lose-receipt.ts'
import { createAccounts } from './accounts.ts'
import { closeCredits } from './close-credits.ts'
import { reviewCredits, voidReservations } from './review-credits.ts'
import { createSpending, type Reservation } from './spend-credits.ts'

const HOUR = 3_600_000
const hash = `0x${'ab'.repeat(32)}` as const
const spender = { account: PAYER, planId: 'basic', resourceId: 'default', purchase: 'http-1' }

async function open({ granted = 50, spent = 20, paid = '1000000', paidOn = '' } = {}) {
  const clock = createFakeClock()
  const start = clock.now()
  const catalog = buildCatalog([{ planId: 'basic', unitAmount: '$1.00', credits: granted }])
  const rail = testRail({
    chain: {
      head: async () => {
        const block = { number: 1, hash, timestamp: 1 }
        return { latest: block, finalized: block }
      },
    },
  })
  const { core, store, alerts, rail: opened } = testCore({ clock, config: { catalog }, rails: [rail] })
  const accounts = createAccounts(core)
  const spending = createSpending(core, accounts)
  const challenge = testChallenge({
    ...{ key: 'http-1', requestId: 'r-1', amount: paid, state: 'DELIVERED', payer: PAYER, txHash: hash },
    ...{ receipt: 'receipt', paidAt: start, claimed: true, dueAt: null },
  })
  const receipt: ReceiptRow = {
    ...{ key: 'receipt', version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1' },
    ...{
      rail: paidOn || opened.id,
      source: { kind: 'payment' },
      role: 'pays',
      payer: PAYER,
      value: paid,
      txHash: hash,
      logIndex: 1,
    },
    ...{ blockNumber: 10, blockHash: hash, fromHeight: 5, finalized: true, lost: false },
  }
  const row: CreditRow = {
    ...{ key: 'http-1', version: 0, ref: accountOf(PAYER, 'basic', 'default'), dueAt: start + 25 * HOUR },
    ...{ granted, spent, reserved: [], expiresAt: start + HOUR, network: null, paidOn: challenge.network },
    ...{ txHash: hash, requestId: 'r-1' },
  }
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'receipts', row: receipt },
      { table: 'credits', row },
    ],
  })
  const lot = async () => (await getOne(core, 'credits', 'http-1'))!
  return {
    ...{ core, store, alerts, accounts, spending, clock, rail: opened, lot },
    close: (by = accounts) => closeCredits(core, by, 'http-1'),
    async job() {
      for (const due of await store.takeDue('credits', clock.now(), clock.now() + 1000, 10))
        await reviewCredits(core, accounts, due)
    },
    async take(credits = 1): Promise<Reservation> {
      const taken = await spending.take(spender, { credits, fingerprint: 'f' })
      if (taken.kind !== 'reserved') throw new Error(taken.kind)
      return taken.reservation
    },
    events: async () => (await store.audit('http-1')).map(({ event }) => event),
    refunds: () => store.list('refunds', 'http-1'),
  }
}

const refused = (words: string) =>
  expect.objectContaining({ code: 'INVALID_REQUEST', message: expect.stringContaining(words) })

test('what is unspent goes back to the payer, once, and the sale stays delivered', async () => {
  const { close, refunds, lot, events, store } = await open()
  const refund = { recipient: PAYER, value: '600000', phase: 'WAITING', txHash: null }
  const told = { status: 'closed', granted: 50, spent: 20, reserved: 0, refund }
  expect(await close()).toMatchObject(told)
  expect(await close(), 'twice').toMatchObject(told)
  expect(await refunds()).toMatchObject([{ key: 'receipt', movesState: false, value: '600000', version: 1 }])
  expect(await lot()).toMatchObject({ ended: 'closed', granted: 50, spent: 20 })
  expect(await events()).toEqual(['credits-closed'])
  expect(await store.get('challenges', ['http-1'])).toMatchObject([{ state: 'DELIVERED', version: 1 }])
})

test('the share is rounded down, and nothing is refunded of what is worth nothing', async () => {
  const third = await open({ granted: 3, spent: 1, paid: '1000000' })
  expect(await third.close()).toMatchObject({ refund: { value: '666666' } })
  const used = await open({ spent: 50 })
  expect(await used.close()).toMatchObject({ status: 'closed', refund: null })
  const tiny = await open({ granted: 1000, spent: 999, paid: '10' })
  expect(await tiny.close()).toMatchObject({ status: 'closed', refund: null })
  expect([...(await used.refunds()), ...(await tiny.refunds())]).toEqual([])
})

test('calls under way end first: one is debited, one given back, and only then it is closed', async () => {
  const { close, take, spending, refunds, events, job, lot, clock } = await open()
  const [answered, failed] = [await take(2), await take(3)]
  expect(await close()).toMatchObject({ status: 'closing', reserved: 5, refund: null })
  expect(await close(), 'twice').toMatchObject({ status: 'closing' })
  expect(await spending.take(spender, { credits: 1, fingerprint: 'f' })).toMatchObject({ kind: 'refused' })
  await job()
  expect(await refunds()).toEqual([])
  expect(await spending.commit(answered, null)).toEqual({ remaining: 0 })
  await spending.giveBack(failed)
  expect((await lot()).dueAt, 'at once').toBe(clock.now())
  await job()
  expect(await refunds()).toMatchObject([{ value: '560000' }])
  await job()
  expect(await close()).toMatchObject({ status: 'closed', spent: 22, refund: { value: '560000' } })
  expect(await refunds()).toHaveLength(1)
  expect(await events()).toEqual(['credits-closing', 'credits-closed'])
})

test('a call that never ends lapses, also after the credits have expired; its late answer is withheld', async () => {
  const { close, take, spending, refunds, job, clock } = await open()
  await clock.advance(HOUR - 500)
  const hangs = await take(10)
  await close()
  await clock.advance(31_000)
  await job()
  expect(await refunds()).toMatchObject([{ value: '600000' }])
  expect(await spending.commit(hangs, null)).toBeInstanceOf(GatewayError)
  expect(await close()).toMatchObject({ status: 'closed', spent: 20 })
})

test('another instance that knows the account from before cannot spend any more', async () => {
  const { close, core, store, refunds } = await open()
  const elsewhere = createSpending(core, createAccounts(core))
  const before = await elsewhere.take(spender, { credits: 1, fingerprint: 'f' })
  if (before.kind !== 'reserved') throw new Error(before.kind)
  await elsewhere.commit(before.reservation, null)
  expect(await close(createAccounts(core))).toMatchObject({ status: 'closed', spent: 21 })
  expect(await elsewhere.take(spender, { credits: 1, fingerprint: 'f' })).toMatchObject({
    kind: 'refused',
    error: { code: 'UNAUTHORIZED' },
  })
  expect(await refunds()).toMatchObject([{ value: '580000' }])
  expect((await store.get('credits', ['http-1']))[0]).toMatchObject({ spent: 21, reserved: [] })
})

test('closed on many instances at once, there is one refund', async () => {
  const { close, core, refunds, events } = await open()
  const all = await Promise.all(Array.from({ length: 8 }, () => close(createAccounts(core))))
  expect(all).toMatchObject(all.map(() => ({ status: 'closed', refund: { value: '600000' } })))
  expect(await refunds()).toHaveLength(1)
  expect(await events()).toEqual(['credits-closed'])
})

test('what is not owed is refused with the reason', async () => {
  const expired = await open()
  await expired.clock.advance(HOUR)
  expect(await expired.close()).toEqual(refused('have expired are not refunded'))
  const { core, accounts, store } = await open()
  expect(await closeCredits(core, accounts, 'http-2')).toMatchObject({ code: 'CHALLENGE_NOT_FOUND' })
  await store.commit({ puts: [{ table: 'challenges', row: testChallenge({ key: 'http-3' }) }] })
  expect(await closeCredits(core, accounts, 'http-3')).toEqual(refused('granted no credits'))
  for (const { refunds } of [expired, { refunds: () => store.list('refunds', 'http-1') }])
    expect(await refunds()).toEqual([])
})

test('on a network that is not configured nothing is closed: nobody would send the refund', async () => {
  const elsewhere = testRail({ network: MAINNET }).id
  const { close, core, lot, refunds, job, alerts, events } = await open({ paidOn: elsewhere })
  expect(await close()).toEqual(refused(`is on ${MAINNET.id}, which is not configured`))
  expect(await lot()).toMatchObject({ version: 1 })
  // An instance that has the network began to close it.
  await core.store.commit({
    puts: [{ table: 'credits', row: { ...(await lot()), ended: 'closing', dueAt: 0 } }],
  })
  await job()
  expect(await close()).toMatchObject({ status: 'closing', refund: null })
  expect(await lot()).toMatchObject({ ended: 'closing' })
  expect([await refunds(), await events()]).toEqual([[], []])
  expect(alerts).toMatchObject([{ kind: 'rail-missing' }])
  const used = await open({ paidOn: elsewhere, spent: 50 })
  expect(await used.close(), 'nothing goes back').toMatchObject({ status: 'closed', refund: null })
})

test('a payment that the chain takes back ends the credits at once, and says what was spent', async () => {
  const { core, store, close, take, spending, alerts, lot } = await open()
  const elsewhere = createSpending(core, createAccounts(core))
  await elsewhere.take(spender, { credits: 1, fingerprint: 'f' })
  const underWay = await take(4)
  const [receipt] = await store.get('receipts', ['receipt'])
  await loseReceipt(core, { ...receipt!, finalized: false })
  expect(await lot()).toMatchObject({ ended: 'lost' })
  expect(alerts).toMatchObject([
    { kind: 'receipt-lost', message: expect.stringContaining('of its 50 credits 20') },
  ])
  expect(await store.audit('http-1')).toMatchObject([
    { event: 'receipt-lost', details: { credits: 50, creditsSpent: 20 } },
  ])
  for (const by of [spending, elsewhere]) {
    expect(await by.take(spender, { credits: 1, fingerprint: 'f' })).toMatchObject({ kind: 'refused' })
  }
  expect(await close()).toEqual(refused('lost its payment'))
  expect(await spending.commit(underWay, null), 'its work was done').toEqual({ remaining: 0 })
})

test('a refund that waits is void once the payment is lost', async () => {
  const { core, store, close, refunds, lot } = await open()
  await close()
  const [receipt] = await store.get('receipts', ['receipt'])
  await loseReceipt(core, receipt!)
  expect(await refunds()).toMatchObject([{ phase: 'VOID', dueAt: null }])
  expect(await lot()).toMatchObject({ ended: 'lost' })
})

test('without a refund key the refund waits for the operator, as others do', async () => {
  const { core, rail, close, refunds, alerts } = await open()
  await close()
  await runRefunds(core, rail, await refunds())
  expect(alerts).toMatchObject([{ kind: 'refund-key-missing' }])
  expect(await refunds()).toMatchObject([{ phase: 'WAITING' }])
})

test('a refund of credits that failed is tried again, and the log calls it by its name', async () => {
  const { core, store, close, refunds, events } = await open()
  await close()
  const [refund] = await refunds()
  await store.commit({ puts: [{ table: 'refunds', row: { ...refund!, phase: 'FAILED', dueAt: null } }] })
  expect(await retryRefund(core, 'http-1')).toMatchObject({ state: 'DELIVERED' })
  expect(await refunds()).toMatchObject([{ phase: 'WAITING', value: '600000' }])
  expect(await events()).toEqual(['credits-closed', 'credits-refund-retried'])
})

test('the row is removed a day after its end, and the log keeps what was granted and spent', async () => {
  const { close, job, store, clock } = await open()
  await close()
  await clock.advance(25 * HOUR)
  await job()
  expect(await store.get('credits', ['http-1'])).toEqual([undefined])
  expect((await store.audit('http-1')).at(-1)).toMatchObject({
    event: 'credits-ended',
    details: { granted: 50, spent: 20, planId: 'basic', payer: PAYER, ended: 'closed' },
  })
})

test('a process that starts alone on the store gives back what the last one reserved, and closes it', async () => {
  const { close, core, clock, take, job, refunds, lot } = await open()
  await take(5)
  await close()
  await clock.advance(10)
  await voidReservations(core)
  expect(await lot()).toMatchObject({ ended: 'closing', reserved: [{ lapsed: true }] })
  await job()
  expect(await refunds()).toMatchObject([{ value: '600000' }])
})
