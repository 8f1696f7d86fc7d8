import type { NetworkConfig } from '../config/resolved-config.ts'
import { type UnfinishedRail, unfinishedRails } from '../engine/jobs/unfinished-rails.ts'
import { ConfigError } from '../errors.ts'
import type { Rail, Store } from '../ports.ts'
import { findNetwork } from '../protocol/networks.ts'
import { isMeteredRail } from '../rules/rail-id.ts'
import type { BuiltRail } from './build-rail.ts'

interface Seller {
  networks: readonly NetworkConfig[]
  /** Some route is metered. */
  isMetered: boolean
  /** What the seller calls the list of networks. */
  label: string
}

/**
 * The rails of the configured networks. Those of metered calls are among them while such a route is sold, and after that
 * until the payments that were made by them are finished. Throws if a rail that cannot be opened has payments or
 * refunds that are not finished: nobody would finish them.
 */
export async function railsToOpen(
  store: Store,
  built: readonly Pick<BuiltRail, 'rail' | 'meteredRail'>[],
  seller: Seller,
): Promise<Rail[]> {
  const metered = built.flatMap(({ meteredRail }) => meteredRail() ?? [])
  const sold = [...built.map(({ rail }) => rail), ...(seller.isMetered ? metered : [])]
  const left = await unfinishedRails(store, new Set(sold.map(({ id }) => id)))
  const toFinish = metered.filter(({ id }) => !sold.some((rail) => rail.id === id) && isOf(left, id))
  const lost = left.filter(({ rail }) => !toFinish.some(({ id }) => id === rail))
  if (lost.length > 0) throw new ConfigError(lost.map((rail) => describe(rail, seller)))
  return [...sold, ...toFinish]
}

const isOf = (left: readonly UnfinishedRail[], id: string): boolean => left.some(({ rail }) => rail === id)

function describe(unfinished: UnfinishedRail, { networks, label }: Seller): string {
  const { rail, network, payments, receipts, refunds, failedRefunds, transactions, sales } = unfinished
  const name = findNetwork(network)?.name
  const place = `${network}${name ? ` (${name})` : ''}`
  const parts = [
    plural(payments, 'payment'),
    plural(receipts, 'receipt'),
    plural(refunds, 'refund'),
    plural(failedRefunds, 'failed refund'),
    plural(transactions, 'transaction'),
    plural(sales, 'sale'),
  ].filter((part) => part !== undefined)
  const open = `${parts.join(', ')} in the store are not finished.`
  const byHand =
    failedRefunds > 0
      ? ' Failed refunds wait for you: paystile refunds retry, or paystile refunds resolve.'
      : ''
  const named = networks.find((on) => on.network.id === network)
  if (named && isMeteredRail(rail)) {
    return `${named.labels.gasWalletPrivateKey} is not set, and on ${place} ${open} They are of metered calls, which only the gas wallet settles: start with it once more, until they are.${byHand}`
  }
  const lacks = named ? `names ${place} with another token than before` : `does not name ${place}`
  return `${label} ${lacks}, where ${open} Start with it once more, as the last of the list, until they are; or give the new networks a store of their own.${byHand}`
}

const plural = (count: number, what: string): string | undefined =>
  count === 0 ? undefined : `${count} ${what}${count === 1 ? '' : 's'}`
