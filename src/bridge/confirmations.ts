import { randomInt } from 'node:crypto'
import type { Purchase } from './purchase.ts'
import type { Terms } from './terms.ts'

/** Terms that were told and wait for a person to agree. */
export interface Quote {
  name: string
  purchase: Purchase
  terms: Terms
  code: string
}

export interface Confirmations {
  /** Remembers the terms of a purchase; newer ones replace them. */
  ask(quote: Omit<Quote, 'code'>): Quote
  /** What was told with this code, once. */
  take(code: string): Quote | undefined
}

const VALID_MS = 10 * 60_000
const MAX_WAITING = 1000
/** Without letters and digits that look alike. */
const ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const CODE_LENGTH = 6

/** Kept in memory: after a restart the terms are told again. */
export function createConfirmations(now: () => number = Date.now): Confirmations {
  const waiting = new Map<string, Quote & { untilMs: number }>()
  return {
    ask(quote) {
      const asked = { ...quote, code: newCode(), untilMs: now() + VALID_MS }
      waiting.delete(quote.name)
      waiting.set(quote.name, asked)
      if (waiting.size > MAX_WAITING) waiting.delete(waiting.keys().next().value!)
      return asked
    },
    take(code) {
      const wanted = code.trim().toUpperCase()
      const quote = [...waiting.values()].find((one) => one.code === wanted)
      if (!quote) return undefined
      waiting.delete(quote.name)
      return now() <= quote.untilMs ? quote : undefined
    },
  }
}

function newCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}
