import { GatewayError } from '../errors.ts'
import type { Address } from '../protocol/hex.ts'
import type { Core } from './core.ts'

const WINDOW_MS = 60_000
const MAX_PAYERS = 10_000

/** Looks per payer in the minute that began at `since`; the oldest payer first. */
type Looks = Map<Address, { since: number; count: number }>

/** One per engine, and nobody else's business. */
const looksOf = new WeakMap<Core, Looks>()

/**
 * Who has paid may show fresh signatures to fetch a result again, and each one costs a look at the chain. So many a minute
 * are taken, counted before the look: what comes together must not all find room. Undefined lets it pass.
 */
export function refuseLook(core: Core, payer: Address): GatewayError | undefined {
  const perMinute = core.config.payerFailuresPerMinute
  if (perMinute === 0) return undefined
  const looks = looksOf.get(core) ?? new Map()
  looksOf.set(core, looks)
  const now = core.clock.now()
  const last = looks.get(payer)
  const isOver = last === undefined || now >= last.since + WINDOW_MS || now < last.since
  if (isOver) {
    looks.delete(payer)
    const oldest = looks.keys().next().value
    if (looks.size >= MAX_PAYERS && oldest !== undefined) looks.delete(oldest)
    looks.set(payer, { since: now, count: 1 })
    return undefined
  }
  if (last.count < perMinute) {
    last.count++
    return undefined
  }
  const message = `Too many new signatures from ${payer} for what is paid already; to fetch a result again, resend the original payload unchanged.`
  const retryAfterSeconds = Math.ceil((last.since + WINDOW_MS - now) / 1000)
  return new GatewayError('RATE_LIMITED', message, { retryAfterSeconds })
}
