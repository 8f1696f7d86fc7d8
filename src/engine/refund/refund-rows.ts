import type { AuditEntry, ChallengeRow, Put, Rail, ReceiptRow, RefundRow } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { assetOfRail, networkOfRail } from '../../rules/rail-id.ts'
import { auditEntry, type EventFacts } from '../apply-event.ts'

/** The intent to refund a receipt. Recipient and value come only from the chain's Transfer. */
export function refundOf(
  receipt: ReceiptRow,
  { id, refundsBy }: Pick<Rail, 'id' | 'refundsBy'>,
  movesState: boolean,
  dueAt: number,
): Put {
  return {
    table: 'refunds',
    row: {
      key: receipt.key,
      version: 0,
      ref: receipt.challengeId,
      dueAt,
      challengeId: receipt.challengeId,
      rail: refundsBy ?? id,
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

/** It returns what was paid for unspent credits: a share of the payment itself, and the sale stays as it is. */
export function isCreditsRefund(
  { receipt }: Pick<ChallengeRow, 'receipt'>,
  { key, movesState }: Pick<RefundRow, 'key' | 'movesState'>,
): boolean {
  return !movesState && key === receipt
}

/**
 * What the log says of a refund that does not change its challenge's state. It names the payment that goes back, because a
 * challenge may have several of the same value, and one transaction returns them.
 */
export function refundEntry(
  challenge: ChallengeRow,
  refund: RefundRow,
  what: 'refunded' | 'refund-failed' | 'refund-retried' | 'refund-proven',
  facts: EventFacts,
): AuditEntry {
  const ofCredits = isCreditsRefund(challenge, refund)
  const details = {
    ...facts.details,
    ...(!ofCredits && otherMoney(refund.rail, refund.recipient)),
    payment: refund.key,
  }
  return auditEntry(challenge, `${ofCredits ? 'credits' : 'surplus'}-${what}`, { ...facts, details })
}

/** Where a payment that its challenge does not name was made, and by whom. */
export function otherMoney(rail: string, payer: Address) {
  return { network: networkOfRail(rail), asset: assetOfRail(rail), payer }
}
