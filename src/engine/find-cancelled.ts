import type { AuthorizationRow } from '../ports.ts'
import type { Core } from './core.ts'
import type { Look } from './look-at-chain.ts'

/** An authorization is valid for an hour at most: on Base, who cancelled one did it within these blocks. */
const BLOCKS_BACK = 1_800

/**
 * To a look, a used nonce and one that its payer cancelled are the same; to its buyer they are not, for a cancelled one has
 * moved no money and never will. Answers the claims whose cancellation is in the logs. What is older, or cannot be found out
 * now, counts as used: that says less, and nothing that is wrong.
 */
export async function findCancelled(
  { chain }: Core,
  attempts: readonly AuthorizationRow[],
  { at, results }: Look,
): Promise<ReadonlySet<AuthorizationRow>> {
  const used = attempts.filter(({ phase }, index) => phase === 'CLAIMED' && results[index]?.kind === 'used')
  if (used.length === 0) return new Set()
  const keys = used.map(({ auth }) => ({ payer: auth.from, nonce: auth.nonce }))
  const seen = await chain.uses(keys, Math.max(0, at.number - BLOCKS_BACK)).catch(() => undefined)
  const cancelled = new Set(
    seen?.found.flatMap(({ kind, key }) => (kind === 'canceled' ? [`${key.payer}:${key.nonce}`] : [])),
  )
  return new Set(used.filter(({ auth }) => cancelled.has(`${auth.from}:${auth.nonce}`)))
}
