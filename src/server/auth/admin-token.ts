import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Compares without telling by its time how much of a guess was right; of unequal lengths as well. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

export interface AdminToken {
  /** The token of a URL that was printed; undefined while the operator has chosen one of its own. */
  printed(): string | undefined
  /** For a login. A printed token is used up by it, and the next one is printed. */
  redeem(token: string): boolean
  /** For scripts: the operator's own token, as often as it is sent. */
  matches(token: string): boolean
}

/**
 * What opens setup and dashboard: the operator's `ADMIN_TOKEN`, or, without it, a token that is made here, printed in the
 * log and good for one login.
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
