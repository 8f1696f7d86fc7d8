import type { ReceiptRow } from '../ports.ts'
import { plainOrdinalOf } from '../rules/authorization-key.ts'
import { type Core, commit, getOne } from './core.ts'
import { refuseOlderView } from './final-uses.ts'
import { loseReceipt, untilNextLook } from './lose-receipt.ts'

/** A plain transfer that a reorganisation dropped may be mined again: nobody but its sender can say that it never will. */
const PATIENCE_MS = 3_600_000

/** Follows the receipt of a plain transfer until its block is finalized. We did not send it, so we cannot send it again. */
export async function followTransfer(core: Core, receipt: ReceiptRow): Promise<void> {
  const { finalized } = await core.chain.head()
  const { at, found } = await core.chain.transfers(receipt.txHash)
  refuseOlderView(at, finalized)
  const challenge = await getOne(core, 'challenges', receipt.challengeId)
  if (!challenge) throw new Error(`receipt ${receipt.key} names no stored challenge`)
  const now = core.clock.now()
  // The challenge's own wallet: the seller may have another one by now.
  const ours = found?.transfers.filter(({ to }) => to === challenge.payTo)
  const transfer = ours?.[plainOrdinalOf(receipt.key) ?? -1]
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
    dueAt: finalizedNow ? null : now + untilNextLook(block, finalized),
  }
  await commit(core, { puts: [{ table: 'receipts', row }] })
}
