import type { Put, ReceiptRow } from '../../ports.ts'

/** The intent to refund a receipt. Recipient and value come only from the chain's Transfer. */
export function refundOf(receipt: ReceiptRow, movesState: boolean, dueAt: number): Put {
  return {
    table: 'refunds',
    row: {
      key: receipt.key,
      version: 0,
      ref: receipt.challengeId,
      dueAt,
      challengeId: receipt.challengeId,
      rail: receipt.rail,
      movesState,
      recipient: receipt.payer,
      value: receipt.value,
      auth: null,
      phase: 'WAITING',
      attempts: 0,
      fromHeight: receipt.blockNumber,
      walletTx: null,
      txHash: null,
      reason: null,
    },
  }
}
