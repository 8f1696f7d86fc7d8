import { UnavailableError } from '../errors.ts'
import type { Put, ReceiptRow } from '../ports.ts'
import { transferKey } from '../rules/authorization-key.ts'
import { seenRow } from './confirm.ts'
import { type Core, commit, getOne } from './core.ts'
import { loseReceipt, untilNextLook } from './lose-receipt.ts'

/** A plain transfer that a reorganisation dropped may be mined again: nobody but its sender can say that it never will. */
const PATIENCE_MS = 3_600_000

/** Follows the receipt of a plain transfer until its block is finalized. We did not send it, so we cannot send it again. */
export async function followTransfer(core: Core, receipt: ReceiptRow): Promise<void> {
  const { finalized } = await core.chain.head()
  const { at, found } = await core.chain.transfers(receipt.txHash)
  if (at.number < finalized.number) {
    throw new UnavailableError(
      `a node that has block ${finalized.number}; this one ends at ${at.number}. The chain`,
    )
  }
  const now = core.clock.now()
  const alike = found?.transfers.filter(({ from, to, value }) => {
    return from === receipt.payer && to === core.config.payTo && value === receipt.value
  })
  const transfer = alike?.find(({ logIndex }) => logIndex === receipt.logIndex) ?? alike?.[0]
  if (!found || !transfer) {
    const challenge = await getOne(core, 'challenges', receipt.challengeId)
    const patient = now < (challenge?.paidAt ?? 0) + PATIENCE_MS
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
  const puts: Put[] = [{ table: 'receipts', row }]
  if (transfer.logIndex !== receipt.logIndex) {
    const seen = await getOne(
      core,
      'seen',
      transferKey(core.config.network.chainId, row.txHash, row.logIndex),
    )
    if (!seen) puts.push({ table: 'seen', row: seenRow(core, row) })
  }
  await commit(core, { puts })
}
