/** Removes secrets from text: those given to `conceal`, and everything that looks like one. */
export interface Redactor {
  /** Adds values that must never be shown. */
  conceal(secrets: readonly string[]): void
  clean(text: string): string
}

const HIDDEN = '[redacted]'

/** A JWT or a payment header begins with the base64 of `{"`; a challenge id may contain that, but not begin with it. */
const TOKENS = /(?<![\w-])eyJ[\w+/=-]{16,}(?:\.[\w-]+)*/g
/** At least two 32-byte words of hex; a transaction hash has only one. */
const SIGNATURES = /0x[0-9a-f]{128,}/gi
const BEARERS = /\b(Bearer|Basic)\s+[^\s"\\,]+/gi
const URL_USERS = /:\/\/[^/\s"@]+@/g

export function createRedactor(): Redactor {
  const known = new Set<string>()
  let pattern: RegExp | undefined
  return {
    conceal(secrets) {
      for (const secret of secrets) if (secret !== '') known.add(secret)
      // Longest first, so that a secret which contains another one is removed as a whole.
      const longest = [...known].sort((a, b) => b.length - a.length).map(escaped)
      pattern = longest.length === 0 ? undefined : new RegExp(longest.join('|'), 'gi')
    },
    clean(text) {
      const told = pattern ? text.replace(pattern, HIDDEN) : text
      return told
        .replace(TOKENS, HIDDEN)
        .replace(SIGNATURES, HIDDEN)
        .replace(BEARERS, `$1 ${HIDDEN}`)
        .replace(URL_USERS, `://${HIDDEN}@`)
    },
  }
}

function escaped(secret: string): string {
  return secret.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
