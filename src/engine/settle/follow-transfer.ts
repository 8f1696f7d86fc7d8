import type { Block, ReceiptRow } from '../../ports.ts'
import { type Core, commit, getOne } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { refuseOlderView } from './final-uses.ts'
import { refuseDoubtful } from './look-at-chain.ts'
import { lackingMs, loseReceipt, untilNextLook } from './lose-receipt.ts'

/**
 * A plain transfer that a reorganisation dropped may be mined again, and only its sender knows whether it will be. It
 * counts as lost when every look has missed it for this long.
 */
const PATIENCE_MS = 3_600_000
/** When a transfer that was missed is looked for again. */
const NEXT_LOOK_MS = 60_000
/** If no look has missed it for longer than this, some failed or were not made: the time begins anew. */
const LONGEST_GAP_MS = 5 * NEXT_LOOK_MS

/**
 * Follows the receipt of a plain transfer until its block is final. We did not send the transfer, so we cannot send
 * it again.
 */
export async function followTransfer(core: Core, rail: OpenRail, receipt: ReceiptRow): Promise<void> {
  const { finalized } = await rail.chain.head()
  const { at, found } = await rail.transfers(receipt.txHash)
  refuseOlderView(at, finalized)
  const challenge = await getOne(core, 'challenges', receipt.challengeId)
  if (!challenge) throw new Error(`receipt ${receipt.key} names no stored challenge`)
  const now = core.clock.now()
  const { source } = receipt
  // The recipient of that time: the seller may have configured another one since.
  const payTo = (source.kind === 'transfer' && source.to) || challenge.payTo
  const ours = found?.transfers.filter(({ to }) => to === payTo)
  const transfer = source.kind === 'transfer' ? ours?.[source.ordinal] : undefined
  const same = transfer?.from === receipt.payer && transfer.value === receipt.value
  if (!found || !transfer || !same) {
    await refuseDoubtful(core, rail, at)
    return missTransfer(core, receipt, found?.block.number ?? receipt.blockNumber, { at, finalized })
  }
  const { block } = found
  const finalizedNow = block.number <= finalized.number
  const { missedAt: _, lastMissedAt: _last, ...known } = receipt
  const row: ReceiptRow = {
    ...known,
    blockNumber: block.number,
    blockHash: block.hash,
    logIndex: transfer.logIndex,
    finalized: finalizedNow,
    dueAt: finalizedNow ? null : now + untilNextLook(lackingMs(block, finalized)),
  }
  await commit(core, { puts: [{ table: 'receipts', row }] })
}

/**
 * The transfer is not where it should be. A node that has not reached that height yet says nothing by that. It is lost
 * only if it is also absent up to a finalized block beyond that height: until then its block may come back.
 */
async function missTransfer(
  core: Core,
  receipt: ReceiptRow,
  height: number,
  { at, finalized }: { at: Block; finalized: Block },
): Promise<void> {
  const now = core.clock.now()
  const again = { ...receipt, dueAt: now + NEXT_LOOK_MS }
  if (at.number < height) {
    await commit(core, { puts: [{ table: 'receipts', row: again }] })
    return
  }
  const isUnbroken = now - (receipt.lastMissedAt ?? 0) <= LONGEST_GAP_MS
  const missedAt = (isUnbroken && receipt.missedAt) || now
  const waited = now >= missedAt + PATIENCE_MS
  if (waited && finalized.number > height) return loseReceipt(core, receipt)
  const row = { ...again, missedAt, lastMissedAt: now }
  await commit(core, { puts: [{ table: 'receipts', row }] })
}
