import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { SELLER, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { Block, ReceiptRow, TransferTx } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { refundOf } from '../refund/refund-rows.ts'
import { followTransfer } from './follow-transfer.ts'

const TX: Hex = `0x${'7a'.repeat(32)}`
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const block = (number: number): Block => ({ number, hash: `0x${number}`, timestamp: number * 2 })
const minedIn = (number: number, value = '10'): TransferTx => ({
  txHash: TX,
  sender: PAYER,
  block: block(number),
  transfers: [{ logIndex: 1, from: PAYER, to: SELLER, value }],
})

/** What one node shows: its latest block, the finalized one, and the transaction. */
interface Shown {
  at: number
  finalized: number
  found?: TransferTx
}

/** A surplus transfer in block 20, for a challenge that was delivered two hours ago. */
async function open() {
  const clock = createFakeClock()
  let shown: Shown = { at: 20, finalized: 10 }
  const rail = testRail({
    chain: { head: async () => ({ latest: block(shown.at), finalized: block(shown.finalized) }) },
    transfers: async () => ({ at: block(shown.at), found: shown.found }),
  })
  const { core, rail: openRail, store, alerts } = testCore({ rails: [rail], clock })
  // As the version before stored it: nothing in it says that it was missed.
  const receipt: ReceiptRow = {
    ...{ key: 'plain', version: 0, ref: 'c', dueAt: 1, challengeId: 'c', rail: rail.id },
    source: { kind: 'transfer', ordinal: 0, to: SELLER },
    ...{ role: 'surplus', payer: PAYER, value: '10', txHash: TX, logIndex: 1 },
    ...{ blockNumber: 20, blockHash: block(20).hash, fromHeight: 20, finalized: false, lost: false },
  }
  const paidAt = clock.now() - 2 * HOUR
  const challenge = testChallenge({ key: 'c', state: 'DELIVERED', receipt: 'first', paidAt })
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge },
      { table: 'receipts', row: receipt },
      refundOf(receipt, rail, false, clock.now()),
    ],
  })
  const rows = async () => {
    const [[stored], [refund]] = [
      await store.get('receipts', ['plain']),
      await store.get('refunds', ['plain']),
    ]
    return { receipt: stored!, refund: refund! }
  }
  /** One look, `afterMs` after the one before. */
  async function look(next: Shown, afterMs = MINUTE) {
    await clock.advance(afterMs)
    shown = next
    await followTransfer(core, openRail, (await rows()).receipt)
    const { receipt: stored, refund } = await rows()
    return { lost: stored.lost, refund: refund.phase, inMs: stored.dueAt && stored.dueAt - clock.now() }
  }
  /** A look every minute, for so long. */
  async function lookFor(forMs: number, next: Shown) {
    for (let left = forMs; left > 0; left -= MINUTE) {
      expect(await look(next, Math.min(left, MINUTE))).toEqual(WAITS)
    }
  }
  return { alerts, rows, look, lookFor }
}

const WAITS = { lost: false, refund: 'WAITING', inMs: MINUTE }
const LOST = { lost: true, refund: 'VOID', inMs: null }

test('a transfer for a purchase of hours ago is not lost because one node does not show it', async () => {
  const { look, rows, alerts } = await open()
  expect(await look({ at: 22, finalized: 10 }, 2_000)).toEqual(WAITS)
  const { inMs, ...seen } = await look({ at: 60, finalized: 30, found: minedIn(21) })
  expect(seen).toEqual({ lost: false, refund: 'WAITING' })
  expect(inMs).toBeNull()
  expect((await rows()).receipt).toMatchObject({ finalized: true, blockNumber: 21 })
  expect(alerts).toEqual([])
})

test('it is lost once it was missed for an hour, up to a final block past its own', async () => {
  const { look, lookFor, alerts } = await open()
  expect(await look({ at: 22, finalized: 10 })).toEqual(WAITS)
  await lookFor(HOUR - 1, { at: 2000, finalized: 1500 })
  expect(await look({ at: 2001, finalized: 1501 }, 1)).toEqual(LOST)
  expect(alerts).toMatchObject([{ kind: 'receipt-lost' }])
})

test('it is not lost by two looks an hour apart: those in between failed, or the gateway was down', async () => {
  const { look, lookFor, alerts } = await open()
  expect(await look({ at: 22, finalized: 10 })).toEqual(WAITS)
  expect(await look({ at: 2000, finalized: 1500 }, HOUR)).toEqual(WAITS)
  await lookFor(HOUR - MINUTE, { at: 2000, finalized: 1500 })
  expect(alerts).toEqual([])
  expect(await look({ at: 2000, finalized: 1500 })).toEqual(LOST)
})

test('a node that does not have its block says nothing of it', async () => {
  const { look, rows } = await open()
  for (let turn = 0; turn < 3; turn++) expect(await look({ at: 19, finalized: 10 }, HOUR)).toEqual(WAITS)
  expect((await rows()).receipt.missedAt).toBeUndefined()
  expect(await look({ at: 2000, finalized: 1500 })).toEqual(WAITS)
})

test('while finality stalls it is not lost, however long it is missed', async () => {
  const { look, lookFor } = await open()
  await lookFor(3 * HOUR, { at: 2000, finalized: 20 })
  expect(await look({ at: 2001, finalized: 21 })).toEqual(LOST)
})

test('a transaction that was mined again without the transfer is lost only when that block is final', async () => {
  const { look, lookFor } = await open()
  const found = minedIn(90, '9')
  expect(await look({ at: 95, finalized: 30, found })).toEqual(WAITS)
  await lookFor(HOUR, { at: 96, finalized: 90, found })
  expect(await look({ at: 97, finalized: 91, found })).toEqual(LOST)
})

test('a transfer that was found in between is missed anew', async () => {
  const { look, lookFor, rows } = await open()
  expect(await look({ at: 22, finalized: 10 })).toEqual(WAITS)
  expect(await look({ at: 23, finalized: 10, found: minedIn(20) })).toMatchObject({ lost: false })
  expect((await rows()).receipt).not.toHaveProperty('missedAt')
  expect((await rows()).receipt).not.toHaveProperty('lastMissedAt')
  await lookFor(HOUR, { at: 2000, finalized: 1500 })
  expect(await look({ at: 4000, finalized: 3500 })).toEqual(LOST)
})
