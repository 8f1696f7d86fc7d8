import type { Block, ChallengeRow, MinedTx, SignedFacts, Use, WalletTxRow } from '../facts.ts'
import { sameHex } from '../protocol/hex.ts'

/** The reason of a payment that no block can take any more. */
export const EXPIRED = 'authorization_expired'

export type TransferUse = Extract<Use, { kind: 'transfer' }>

/** What the chain shows about an attempt that may have been sent. */
export type Verdict =
  | { kind: 'confirmed'; use: TransferUse }
  /** At this depth it does not pay. It stays watched, because a reorganisation may change that. */
  | { kind: 'failed'; reason: string }
  /** A whole batch reverted, or another transaction used its nonce: the attempt needs a new transaction. */
  | { kind: 'rebind'; batchLimit: number | null }
  | { kind: 'wait' }

/** Is this exactly the transfer that the payment asked for? */
export function matchesTransfer(
  { payer, to, amount }: Pick<SignedFacts, 'payer' | 'to' | 'amount'>,
  use: TransferUse,
): boolean {
  return sameHex(use.from, payer) && sameHex(use.to, to) && use.value === amount
}

export function judgeAttempt(
  signed: SignedFacts,
  seen: { use: Use | undefined; at: Block; walletTx: WalletTxRow | undefined; mined: MinedTx | undefined },
  confirmations: number,
): Verdict {
  const deep = (height: number): boolean => seen.at.number - height + 1 >= confirmations
  const { use, walletTx, mined } = seen
  if (use) {
    if (!deep(use.block.number)) return { kind: 'wait' }
    if (use.kind === 'canceled') return { kind: 'failed', reason: 'canceled' }
    if (matchesTransfer(signed, use)) return { kind: 'confirmed', use }
    return { kind: 'failed', reason: 'spent_elsewhere' }
  }
  // Unused in every block up to `at`, and no later block can take it.
  if (BigInt(seen.at.timestamp) >= BigInt(signed.validBefore)) return { kind: 'failed', reason: EXPIRED }
  if (walletTx && mined && deep(mined.blockNumber)) {
    // One member can burn the gas of a whole batch. The others are not at fault, so they are tried again in smaller
    // batches.
    if (!mined.success && walletTx.members.length > 1) {
      return { kind: 'rebind', batchLimit: Math.ceil(walletTx.members.length / 2) }
    }
    return { kind: 'failed', reason: 'reverted' }
  }
  if (walletTx?.phase === 'REPLACED') return { kind: 'rebind', batchLimit: null }
  return { kind: 'wait' }
}

/** It can never land: a finalized block is past validBefore, and it is unused up to there. */
export function isDead(
  { validBefore }: Pick<SignedFacts, 'validBefore'>,
  use: Use | undefined,
  finalized: Block,
): boolean {
  if (use) return use.block.number <= finalized.number
  return BigInt(finalized.timestamp) >= BigInt(validBefore)
}

/**
 * The role of a confirmed transfer. An abandoned attempt that still lands pays the challenge if that is unpaid and
 * has nothing else in flight. A surplus or late transfer is refunded.
 */
export function receiptRole(
  challenge: Pick<ChallengeRow, 'state' | 'liveAuth'>,
  authKey: string,
): 'pays' | 'surplus' | 'late' {
  if (challenge.state === 'PENDING') {
    return challenge.liveAuth === null || challenge.liveAuth === authKey ? 'pays' : 'surplus'
  }
  return challenge.state === 'EXPIRED' || challenge.state === 'CANCELLED' ? 'late' : 'surplus'
}
