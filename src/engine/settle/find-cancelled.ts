import type { AuthorizationRow } from '../../ports.ts'
import type { OpenRail } from '../rails.ts'
import type { Look } from './look-at-chain.ts'

/** An authorization is valid for at most an hour, so a cancellation of one lies within the blocks of this time. */
const LONGEST_VALIDITY_MS = 3_600_000

/**
 * A look cannot tell a used nonce from one that its payer cancelled, but a cancelled one has moved no money and never
 * will. Returns the claims of these whose cancellation is in the logs. Only the blocks of one query are searched, because
 * anybody can make us search, and other payments wait meanwhile. A cancellation that is older, or cannot be found now, is
 * reported as used: that says less, but nothing wrong.
 */
export async function findCancelled(
  { scheme, network }: OpenRail,
  used: readonly AuthorizationRow[],
  { at }: Look,
): Promise<ReadonlySet<AuthorizationRow>> {
  if (used.length === 0) return new Set()
  const blocks = Math.min(network.logRange, Math.ceil(LONGEST_VALIDITY_MS / network.blockMs))
  const seen = await scheme
    .uses(
      used.map(({ key }) => key),
      Math.max(0, at.number - blocks + 1),
    )
    .catch(() => undefined)
  const cancelled = new Set(seen?.found.flatMap(({ kind, key }) => (kind === 'canceled' ? [key] : [])))
  return new Set(used.filter(({ key }) => cancelled.has(key)))
}
