/** Runs every check at once; one that rejects is named with its reason. */
export async function checkReadiness(
  checks: Record<string, () => Promise<void>>,
): Promise<{ ok: boolean; checks: Record<string, string> }> {
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

export type Readiness = Awaited<ReturnType<typeof checkReadiness>>

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
