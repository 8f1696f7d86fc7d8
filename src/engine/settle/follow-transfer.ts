import type { ReceiptRow } from '../../ports.ts'
import { type Core, commit, getOne } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { refuseOlderView } from './final-uses.ts'
import { lackingMs, loseReceipt, untilNextLook } from './lose-receipt.ts'

/**
 * A plain transfer that a reorganisation dropped may be mined again, and only its sender knows whether it will be. It
 * counts as lost after this time.
 */
const PATIENCE_MS = 3_600_000

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
    const patient = now < (challenge.paidAt ?? 0) + PATIENCE_MS
    if (!patient) return loseReceipt(core, receipt)
    await commit(core, { puts: [{ table: 'receipts', row: { ...receipt, dueAt: now + 60_000 } }] })
    return
  }
  const { block } = found
  const finalizedNow = block.number <= finalized.number
  const row: ReceiptRow = {
    ...receipt,
    blockNumber: block.number,
    blockHash: block.hash,
    logIndex: transfer.logIndex,
    finalized: finalizedNow,
    dueAt: finalizedNow ? null : now + untilNextLook(lackingMs(block, finalized)),
  }
  await commit(core, { puts: [{ table: 'receipts', row }] })
}
