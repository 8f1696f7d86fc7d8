import type { AuthorizationRow } from '../../ports.ts'
import type { OpenRail } from '../rails.ts'
import type { Look } from './look-at-chain.ts'

/** An authorization is valid for at most an hour, so a cancellation of one lies within the blocks of this time. */
const LONGEST_VALIDITY_MS = 3_600_000

/**
 * A look cannot tell a used nonce from one that its payer cancelled, but a cancelled one has moved no money and never
 * will. Returns the claims whose cancellation is in the logs. A cancellation that is older, or cannot be found now,
 * is reported as used: that says less, but nothing wrong.
 */
export async function findCancelled(
  { scheme, network }: OpenRail,
  attempts: readonly AuthorizationRow[],
  { at, results }: Look,
): Promise<ReadonlySet<AuthorizationRow>> {
  const used = attempts.filter(({ phase }, index) => phase === 'CLAIMED' && results[index]?.kind === 'used')
  if (used.length === 0) return new Set()
  const blocksBack = Math.ceil(LONGEST_VALIDITY_MS / network.blockMs)
  const seen = await scheme
    .uses(
      used.map(({ key }) => key),
      Math.max(0, at.number - blocksBack),
    )
    .catch(() => undefined)
  const cancelled = new Set(seen?.found.flatMap(({ kind, key }) => (kind === 'canceled' ? [key] : [])))
  return new Set(used.filter(({ key }) => cancelled.has(key)))
}
