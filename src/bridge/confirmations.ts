import { randomInt } from 'node:crypto'
import type { Purchase } from './purchase.ts'

/** A price that was told and waits for a person to agree. */
export interface Quote {
  name: string
  purchase: Purchase
  amountMicro: bigint
  code: string
}

export interface Confirmations {
  /** Remembers the price of a purchase; a newer one replaces it. */
  ask(quote: Omit<Quote, 'code'>): Quote
  /** The price that was told for this purchase, once. */
  take(name: string): Quote | undefined
  takeByCode(code: string): Quote | undefined
}

const VALID_MS = 10 * 60_000
const MAX_WAITING = 1000
/** Without letters and digits that look alike. */
const ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const CODE_LENGTH = 6

/** Kept in memory: after a restart the price is told again. */
export function createConfirmations(now: () => number = Date.now): Confirmations {
  const waiting = new Map<string, Quote & { untilMs: number }>()
  const take = (name: string | undefined): Quote | undefined => {
    const quote = name === undefined ? undefined : waiting.get(name)
    if (!quote) return undefined
    waiting.delete(quote.name)
    return now() <= quote.untilMs ? quote : undefined
  }
  return {
    ask(quote) {
      const asked = { ...quote, code: newCode(), untilMs: now() + VALID_MS }
      waiting.delete(quote.name)
      waiting.set(quote.name, asked)
      if (waiting.size > MAX_WAITING) waiting.delete(waiting.keys().next().value!)
      return asked
    },
    take,
    takeByCode(code) {
      const wanted = code.trim().toUpperCase()
      return take([...waiting.values()].find((quote) => quote.code === wanted)?.name)
    },
  }
}

function newCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}
