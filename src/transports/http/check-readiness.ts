import type { RailState } from '../../engine/outcome.ts'
import { withoutUrls } from '../catalog-now.ts'

export interface Readiness {
  ok: boolean
  checks: Record<string, string>
  /** With several networks: those that are left out of new offers. */
  withdrawn?: Array<{ network: string; reason: string; since: string }>
}

/** Runs every check at once; one that rejects is named with its reason. */
export async function checkReadiness(checks: Record<string, () => Promise<void>>): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<[string, string]> => {
      try {
        await check()
        return [name, 'ok']
      } catch (cause) {
        return [name, cause instanceof Error ? cause.message : 'failed']
      }
    }),
  )
  return { ok: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) }
}

export interface NetworkChecks {
  /** CAIP-2. */
  id: string
  chain(): Promise<void>
  settlement(): Promise<void>
}

/** With several networks the gateway is ready while payments can be settled on one of them. */
export async function checkNetworks(
  store: () => Promise<void>,
  networks: readonly NetworkChecks[],
  rails: () => readonly RailState[],
): Promise<Readiness> {
  const { checks } = await checkReadiness(
    Object.fromEntries([
      ['store', store],
      ...networks.flatMap(({ id, chain, settlement }) => [
        [`chain ${id}`, chain],
        [`settlement ${id}`, settlement],
      ]),
    ]),
  )
  const withdrawn = rails().flatMap(({ network, withdrawn: why }) => {
    if (!why) return []
    const since = new Date(why.since).toISOString()
    return [{ network: network.id, reason: withoutUrls(why.reason), since }]
  })
  const canSettle = networks.some(({ id }) => {
    const isOffered = withdrawn.every(({ network }) => network !== id)
    return isOffered && checks[`chain ${id}`] === 'ok' && checks[`settlement ${id}`] === 'ok'
  })
  return {
    ok: checks.store === 'ok' && canSettle,
    checks,
    ...(withdrawn.length > 0 && { withdrawn }),
  }
}

/** Long enough that a flood of questions costs nothing, short enough for whoever balances load by the answers. */
const READY_FOR_MS = 3_000
/** A recovery must show soon. */
const NOT_READY_FOR_MS = 1_000

/** Anybody may ask whether we are ready, as often as they like: those who ask together, or soon after, share one answer. */
export function shareReadiness(check: () => Promise<Readiness>, now: () => number): () => Promise<Readiness> {
  let shared: { answer: Promise<Readiness>; at?: number; forMs: number } | undefined
  return () => {
    // A clock that steps back must not keep an old answer.
    const age = shared?.at === undefined ? 0 : now() - shared.at
    if (shared && age >= 0 && age < shared.forMs) return shared.answer
    const asked: typeof shared = { answer: check(), forMs: READY_FOR_MS }
    shared = asked
    asked.answer.then(
      ({ ok }) => {
        asked.at = now()
        if (!ok) asked.forMs = NOT_READY_FOR_MS
      },
      () => {
        if (shared === asked) shared = undefined
      },
    )
    return asked.answer
  }
}
