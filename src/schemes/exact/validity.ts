import type { Authorization } from '../../protocol/authorization.ts'

export const MIN_VALIDITY_SECONDS = 10
export const MAX_VALIDITY_SECONDS = 3600

const UINT256_END = 1n << 256n

/** What is wrong with a validity that ends later than a uint256 can say: there is no digest of it to be signed. */
export function endlessFault({ validBefore }: Authorization): string | undefined {
  if (BigInt(validBefore) < UINT256_END) return undefined
  return `validBefore ${validBefore} is above 2^256 - 1; sign one that is at most ${MAX_VALIDITY_SECONDS} s ahead`
}

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
