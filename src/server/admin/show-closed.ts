import type { ClosedCredits } from '../../backstage.ts'
import { unitsToDollars } from '../../rules/token-amount.ts'
import type { FindNetwork } from './known-networks.ts'

export type ShownClosed = ReturnType<typeof showClosed>

/** Closed credits as the admin API shows them: what goes back in dollars as well. */
export function showClosed({ refund, ...closed }: ClosedCredits, find: FindNetwork) {
  if (!refund) return { ...closed, refund }
  // A token that nobody knows is shown as if it had six decimals.
  const token = find(refund.network, refund.asset)?.token ?? { decimals: 6 }
  return { ...closed, refund: { ...refund, usd: unitsToDollars(token, refund.value) } }
}
