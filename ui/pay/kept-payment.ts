import { Problem } from './problem.ts'

/** A signed payment, kept in the browser before it is sent: whatever happens to the page, this one is sent again. */
export interface KeptPayment {
  header: string
  /** CAIP-2. */
  network: string
  /** Until then it can become money: milliseconds since the epoch by this browser's clock, right or wrong. */
  untilMs: number
  /** Milliseconds since the epoch. */
  signedAt: number
  /** It has been answered with what was bought. */
  answered: boolean
}

const PREFIX = 'paystile:payment:'
const KEPT_MS = 7 * 86_400_000

/** What is bought at this address. The offer's own id would not do: every load of the page has a new one. */
const keyOf = (url: string): string => PREFIX + url

export function readKept(url: string): KeptPayment | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(url)) ?? 'null')
    const kept = value as KeptPayment | null
    return typeof kept?.header === 'string' && typeof kept.untilMs === 'number' ? kept : undefined
  } catch {
    return undefined
  }
}

/** A payment that cannot be kept must not be signed: a reload would ask for another one. */
export function assertCanKeep(url: string): void {
  try {
    const probe = `${keyOf(url)}:probe`
    localStorage.setItem(probe, '1')
    localStorage.removeItem(probe)
    forgetOld()
  } catch {
    throw new Problem(
      'This browser does not let the page keep the payment, so that a reload could make you pay twice. Allow it to store data and try again. Nothing was charged.',
    )
  }
}

/** Of two windows that sign at once, the first one counts: both send that one. */
export function keepFirst(url: string, payment: KeptPayment): KeptPayment {
  const first = readKept(url)
  if (first && !first.answered) return first
  localStorage.setItem(keyOf(url), JSON.stringify(payment))
  return payment
}

export function markAnswered(url: string, payment: KeptPayment): void {
  localStorage.setItem(keyOf(url), JSON.stringify({ ...payment, answered: true }))
}

export function forget(url: string): void {
  localStorage.removeItem(keyOf(url))
}

function forgetOld(): void {
  for (const key of Object.keys(localStorage)) {
    if (!key.startsWith(PREFIX)) continue
    const kept = readKept(key.slice(PREFIX.length))
    if (kept?.answered && kept.signedAt < Date.now() - KEPT_MS) localStorage.removeItem(key)
  }
}
