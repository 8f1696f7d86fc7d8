import type {
  AuthorizationRow,
  Block,
  ChallengeRow,
  MinedTx,
  SignedAuthorization,
  Use,
  WalletTxRow,
} from '../facts.ts'
import { sameHex } from '../protocol/hex.ts'

export type TransferUse = Extract<Use, { kind: 'transfer' }>

/** What the chain says of an attempt that may have been sent. */
export type Verdict =
  | { kind: 'confirmed'; use: TransferUse }
  /** Certain at this depth that it does not pay. It stays watched: the chain may change its mind. */
  | { kind: 'failed'; reason: string }
  /** A whole batch reverted, or its nonce went to another transaction: bind the attempt anew. */
  | { kind: 'rebind'; packLimit: number | null }
  | { kind: 'wait' }

/** The transfer that this authorization asked for, and no other. */
export function matchesTransfer(auth: SignedAuthorization, use: TransferUse): boolean {
  return sameHex(use.from, auth.from) && sameHex(use.to, auth.to) && use.value === auth.value
}

export function judgeAttempt(
  row: Pick<AuthorizationRow, 'auth'>,
  seen: { use: Use | undefined; at: Block; walletTx: WalletTxRow | undefined; mined: MinedTx | undefined },
  confirmations: number,
): Verdict {
  const deep = (height: number): boolean => seen.at.number - height + 1 >= confirmations
  const { use, walletTx, mined } = seen
  if (use) {
    if (!deep(use.block.number)) return { kind: 'wait' }
    if (use.kind === 'canceled') return { kind: 'failed', reason: 'canceled' }
    if (matchesTransfer(row.auth, use)) return { kind: 'confirmed', use }
    return { kind: 'failed', reason: 'spent_elsewhere' }
  }
  // Unused in every block up to `at`, and no later block can take it.
  if (BigInt(seen.at.timestamp) >= BigInt(row.auth.validBefore))
    return { kind: 'failed', reason: 'authorization_expired' }
  if (walletTx && mined && deep(mined.blockNumber)) {
    // One member can burn a batch's gas; the others are not at fault, so they are tried again in smaller company.
    if (!mined.success && walletTx.members.length > 1) {
      return { kind: 'rebind', packLimit: Math.ceil(walletTx.members.length / 2) }
    }
    return { kind: 'failed', reason: 'reverted' }
  }
  if (walletTx?.phase === 'REPLACED') return { kind: 'rebind', packLimit: null }
  return { kind: 'wait' }
}

/** Nothing can make it land any more: a finalized block is past validBefore, and it is unused up to there. */
export function isDead(row: Pick<AuthorizationRow, 'auth'>, use: Use | undefined, finalized: Block): boolean {
  if (use) return use.block.number <= finalized.number
  return BigInt(finalized.timestamp) >= BigInt(row.auth.validBefore)
}

/**
 * Which role a confirmed transfer plays. An abandoned attempt that lands after all still pays a challenge that is
 * unpaid and has nothing else in flight; whatever is too much, or too late, goes back.
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
