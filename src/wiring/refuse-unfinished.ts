import { type UnfinishedRail, unfinishedRails } from '../engine/jobs/unfinished-rails.ts'
import { ConfigError } from '../errors.ts'
import type { Rail, Store } from '../ports.ts'
import { findNetwork } from '../protocol/networks.ts'

/**
 * Throws if a network that is no longer configured has payments or refunds that are not finished: nobody would finish
 * them. `label` is what the seller calls the list of networks.
 */
export async function refuseUnfinished(store: Store, rails: readonly Rail[], label: string): Promise<void> {
  const left = await unfinishedRails(store, new Set(rails.map(({ id }) => id)))
  if (left.length > 0) throw new ConfigError(left.map((rail) => describe(rail, label)))
}

function describe(
  { network, payments, receipts, refunds, transactions, sales }: UnfinishedRail,
  label: string,
) {
  const name = findNetwork(network)?.name
  const parts = [
    plural(payments, 'payment'),
    plural(receipts, 'receipt'),
    plural(refunds, 'refund'),
    plural(transactions, 'transaction'),
    plural(sales, 'sale'),
  ].filter((part) => part !== undefined)
  return (
    `${label} does not name ${network}${name ? ` (${name})` : ''}, where ${parts.join(', ')} in the store are not finished. ` +
    'Start with it once more, as the last of the list, until they are; or give the new networks a store of their own.'
  )
}

const plural = (count: number, what: string): string | undefined =>
  count === 0 ? undefined : `${count} ${what}${count === 1 ? '' : 's'}`
