import type { Address } from '../../../src/protocol/hex.ts'
import { UPTO_PROXY_ADDRESS } from '../../../src/protocol/permit2.ts'
import type { SignedPermit } from '../../../src/schemes/upto/permit.ts'
import { signPermit } from '../keys.ts'
import { type Log, type Mined, minedIn, tokensOf, type View } from './branch.ts'
import type { Token } from './token-facts.ts'

/** An allowance that no transfer lowers. */
export const UNLIMITED = (1n << 256n) - 1n

type PermitLog = Extract<Log, { kind: 'permit' }>

/** What used up a nonce of Permit2, whatever that was. */
function bitOf(
  view: View,
  { from, nonce }: Pick<SignedPermit, 'from' | 'nonce'>,
): { mined: Mined; log: PermitLog; next: Log | undefined } | undefined {
  for (const mined of minedIn(view)) {
    for (const [index, log] of mined.logs.entries()) {
      if (log.kind === 'permit' && log.owner === from && log.nonce === nonce)
        return { mined, log, next: mined.logs[index + 1] }
    }
  }
  return undefined
}

/** The settlement of this permit; undefined if there is none, also if its payer gave the nonce up. */
export function settlementOf(view: View, permit: Pick<SignedPermit, 'from' | 'nonce'>) {
  const bit = bitOf(view, permit)
  return bit && bit.log.taken > 0n ? bit : undefined
}

export function allowanceOf(view: View, token: Token, owner: Address): bigint {
  let allowance = token.allowances.get(owner) ?? 0n
  for (const { logs } of minedIn(view)) {
    for (const log of logs) {
      if (log.kind === 'approval' && log.owner === owner) allowance = log.amount
      if (log.kind === 'permit' && log.owner === owner && allowance !== UNLIMITED) allowance -= log.taken
    }
  }
  return allowance
}

/** What could be taken from this payer now. */
export function fundsOf(view: View, token: Token, owner: Address): bigint {
  const allowance = allowanceOf(view, token, owner)
  const balance = tokensOf(view, token.initial, owner)
  if (allowance > balance) return balance
  return allowance
}

/** Why `settle` would revert in this block, by the rules of x402's proxy and of Permit2. */
export function settleRefusal(
  token: Token,
  view: View,
  permit: SignedPermit,
  sender: Address | undefined,
): string | undefined {
  const { from, amount, charge = amount, deadline, validAfter, spender, facilitator, signature } = permit
  const now = BigInt(view.block.timestamp)
  const taken = BigInt(charge)
  if (sender !== facilitator) return 'not_the_facilitator'
  if (taken === 0n || taken > BigInt(amount)) return 'amount_exceeds_permitted'
  if (now < BigInt(validAfter)) return 'authorization_not_yet_valid'
  if (now > BigInt(deadline)) return 'authorization_expired'
  if (bitOf(view, permit)) return 'authorization_used'
  if (spender !== UPTO_PROXY_ADDRESS || signature !== signPermit(permit, token)) return 'invalid_signature'
  if (allowanceOf(view, token, from) < taken) return 'permit2_allowance_required'
  if (tokensOf(view, token.initial, from) < taken) return 'insufficient_funds'
  return undefined
}

/** Undefined: it reverted. */
export function runSettle(
  token: Token,
  view: View,
  permit: SignedPermit,
  firstIndex: number,
  sender: Address | undefined,
): Log[] | undefined {
  if (settleRefusal(token, view, permit, sender) !== undefined) return undefined
  const { from, to, nonce, amount, charge = amount } = permit
  return [
    { kind: 'permit', index: firstIndex, owner: from, nonce, taken: BigInt(charge) },
    { kind: 'transfer', index: firstIndex + 1, from, to, value: BigInt(charge) },
  ]
}
