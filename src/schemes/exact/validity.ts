import type { Authorization } from '../../protocol/authorization.ts'

export const MIN_VALIDITY_SECONDS = 10
export const MAX_VALIDITY_SECONDS = 3600

/** Why the validity period cannot be used at this chain time; undefined if it can. */
export function validityFault(auth: Authorization, chainTime: number): string | undefined {
  const now = BigInt(chainTime)
  const validBefore = BigInt(auth.validBefore)
  if (BigInt(auth.validAfter) >= now) {
    return `validAfter ${auth.validAfter} is not past yet at chain time ${chainTime}; sign with validAfter 0`
  }
  if (validBefore < now + BigInt(MIN_VALIDITY_SECONDS)) {
    return `validBefore ${auth.validBefore} is less than ${MIN_VALIDITY_SECONDS} s ahead of chain time ${chainTime}`
  }
  if (validBefore > now + BigInt(MAX_VALIDITY_SECONDS)) {
    return `validBefore ${auth.validBefore} is more than ${MAX_VALIDITY_SECONDS} s ahead of chain time ${chainTime}`
  }
  return undefined
}
