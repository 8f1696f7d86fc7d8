import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Compares in constant time, also for different lengths, so that the time does not show how much of a guess is right. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

export interface AdminToken {
  /** The one-time token in the printed URL; undefined if the operator has set `ADMIN_TOKEN`. */
  printed(): string | undefined
  /** Checks the token of a login. A printed token can be used once; then the next one is printed. */
  redeem(token: string): boolean
  /** Checks the bearer of a script: only `ADMIN_TOKEN`, which can be used any number of times. */
  matches(token: string): boolean
}

/**
 * The token for setup and dashboard: the operator's `ADMIN_TOKEN` or, if that is not set, a random token that is printed in
 * the log and can be used for one login.
 */
export function createAdminToken(own: () => string | null, print: (token: string) => void): AdminToken {
  let oneTime = randomBytes(24).toString('base64url')
  const matches = (token: string) => {
    const expected = own()
    return expected !== null && sameSecret(token, expected)
  }
  return {
    printed: () => (own() === null ? oneTime : undefined),
    matches,
    redeem(token) {
      if (own() !== null) return matches(token)
      if (!sameSecret(token, oneTime)) return false
      oneTime = randomBytes(24).toString('base64url')
      print(oneTime)
      return true
    },
  }
}
