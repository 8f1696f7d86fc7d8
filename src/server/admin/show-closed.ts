import type { ClosedCredits } from '../../backstage.ts'
import type { Network } from '../../protocol/network.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { unitsToDollars } from '../../rules/token-amount.ts'

export type ShownClosed = ReturnType<typeof showClosed>

/** Closed credits as the admin API shows them: what goes back in dollars as well. */
export function showClosed({ refund, ...closed }: ClosedCredits, networks: readonly Network[]) {
  if (!refund) return { ...closed, refund }
  const token = [...networks, ...NETWORKS].find(({ id }) => id === refund.network)?.token
  return { ...closed, refund: { ...refund, usd: unitsToDollars(token ?? { decimals: 6 }, refund.value) } }
}
