import { type Call, encodeTryAggregate, MULTICALL3 } from '../../chain/multicall.ts'
import type { Address } from '../../protocol/hex.ts'
import type { SignedAuthorization } from './authorization.ts'
import { encodeTransfer } from './token-calls.ts'

/** The call of a transaction that carries these authorizations: transfers of the token, and nothing else. */
export function encodeTransfers(token: Address, auths: readonly SignedAuthorization[]): Call {
  const [only] = auths
  // A batch of one costs 7% more than a direct call.
  if (only && auths.length === 1) return { to: token, data: encodeTransfer(only) }
  const inner = auths.map((auth) => ({ to: token, data: encodeTransfer(auth) }))
  return { to: MULTICALL3, data: encodeTryAggregate(inner) }
}
