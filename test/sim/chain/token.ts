import type { Address } from '../../../src/protocol/hex.ts'
import type { SignedAuthorization } from '../../../src/schemes/exact/authorization.ts'
import type { Dice } from '../dice.ts'
import { isSigned } from '../keys.ts'
import { type Action, type Log, tokensOf, useOf, type View } from './branch.ts'
import { runSettle } from './permit2.ts'
import type { Token } from './token-facts.ts'

export type { Code, Token } from './token-facts.ts'

/** Why `transferWithAuthorization` would revert in a block of this time, by the rules of the real token. */
export function refusal(
  token: Token,
  view: View,
  timestamp: number,
  auth: SignedAuthorization,
): string | undefined {
  if (BigInt(timestamp) <= BigInt(auth.validAfter)) return 'authorization_not_yet_valid'
  if (BigInt(timestamp) >= BigInt(auth.validBefore)) return 'authorization_expired'
  if (useOf(view, { payer: auth.from, nonce: auth.nonce })) return 'authorization_used'
  if (!isSigned(auth, token)) return 'invalid_signature'
  if (tokensOf(view, token.initial, auth.from) < BigInt(auth.value)) return 'insufficient_funds'
  return undefined
}

/** Runs one call. Undefined: it reverted. */
export function runAction(
  token: Token,
  view: View,
  dice: Dice,
  action: Action,
  firstIndex: number,
  /** Who calls it: the wallet itself, or Multicall3 if there are several. */
  sender?: Address,
): Log[] | undefined {
  switch (action.kind) {
    case 'authorized': {
      const { auth } = action
      if (refusal(token, view, view.block.timestamp, auth) !== undefined) return undefined
      if (token.codes.get(auth.from) === 'flips' && dice.chance(0.5)) return undefined
      const key = { payer: auth.from, nonce: auth.nonce }
      return [
        { kind: 'used', index: firstIndex, key },
        {
          kind: 'transfer',
          index: firstIndex + 1,
          from: auth.from,
          to: auth.to,
          value: BigInt(auth.value),
        },
      ]
    }
    case 'cancel':
      return useOf(view, action.key) ? undefined : [{ kind: 'canceled', index: firstIndex, key: action.key }]
    case 'transfer': {
      const { from, to, value } = action
      if (tokensOf(view, token.initial, from) < value) return undefined
      return [{ kind: 'transfer', index: firstIndex, from, to, value }]
    }
    case 'settle':
      return runSettle(token, view, action.permit, firstIndex, sender)
    case 'approve':
      return [{ kind: 'approval', index: firstIndex, owner: action.owner, amount: action.amount }]
    case 'invalidate': {
      const { owner, nonce } = action
      return [{ kind: 'permit', index: firstIndex, owner, nonce, taken: 0n }]
    }
  }
}

export function burnsGas(token: Token, action: Action): boolean {
  if (action.kind !== 'authorized') return false
  const code = token.codes.get(action.auth.from)
  return code === 'burns' || code === 'turns'
}
