import type { NetworkConfig } from '../config/resolved-config.ts'
import { type UnfinishedRail, unfinishedRails } from '../engine/jobs/unfinished-rails.ts'
import { ConfigError } from '../errors.ts'
import type { Alerts, Rail, Store } from '../ports.ts'
import { findNetwork } from '../protocol/networks.ts'
import { isMeteredRail } from '../rules/rail-id.ts'
import type { BuiltRail } from './build-rail.ts'

interface Seller {
  networks: readonly NetworkConfig[]
  /** What the seller calls the list of networks. */
  label: string
}

/**
 * The rails of the configured networks. Those of metered calls are among them wherever a gas wallet can settle them, even
 * if none is sold here: another instance may still sell some, and whoever paid for one fetches its answer by them.
 * Throws if a rail that cannot be opened has payments or refunds that are not finished: nobody would finish them. Refunds that
 * failed may be such as nobody can ever pay, so for them alone there is an alert.
 */
export async function railsToOpen(
  store: Store,
  built: readonly Pick<BuiltRail, 'rail' | 'meteredRail'>[],
  seller: Seller,
  alerts: Alerts,
): Promise<Rail[]> {
  const rails = [...built.map(({ rail }) => rail), ...built.flatMap(({ meteredRail }) => meteredRail() ?? [])]
  const lost = await unfinishedRails(store, new Set(rails.map(({ id }) => id)))
  const refusing = lost.filter((rail) => openParts(rail).length > 0)
  if (refusing.length > 0) throw new ConfigError(refusing.map((rail) => describe(rail, seller)))
  for (const rail of lost) alerts.raise('rail-missing', describeFailed(rail, seller))
  return rails
}

/** What jobs would finish if the rail were open. */
function openParts({ payments, receipts, refunds, transactions, sales }: UnfinishedRail): string[] {
  return [
    plural(payments, 'payment'),
    plural(receipts, 'receipt'),
    plural(refunds, 'refund'),
    plural(transactions, 'transaction'),
    plural(sales, 'sale'),
  ].filter((part) => part !== undefined)
}

function describe(unfinished: UnfinishedRail, seller: Seller): string {
  const { rail, network, failedRefunds } = unfinished
  const place = placeOf(network)
  const parts = openParts(unfinished)
  const isOne = parts.length === 1 && /^1 /.test(parts[0]!)
  const open = `${parts.join(', ')} in the store ${isOne ? 'is' : 'are'} not finished.`
  const until = isOne ? 'until it is' : 'until they are'
  const byHand = failedRefunds.length > 0 ? ` ${waiting(failedRefunds)} ${BY_HAND}` : ''
  const named = seller.networks.find((on) => on.network.id === network)
  if (named && named.settlement.kind !== 'gas-wallet' && isMeteredRail(rail)) {
    return `${named.labels.gasWalletPrivateKey} is not set, and on ${place} ${open} Metered calls are settled only by the gas wallet: start with it once more, ${until}.${byHand}`
  }
  return `${lacks(network, seller)}, where ${open} Start with it once more, as the last of the list, ${until}; or give the new networks a store of their own.${byHand}`
}

/** How many of them are named in a message. */
const MAX_NAMED = 10

const BY_HAND =
  'paystile refunds retry tries one again; paystile refunds resolve ends one that you paid by hand, unless it is of a surplus.'

function waiting(failedRefunds: readonly string[]): string {
  const ids = [...new Set(failedRefunds)]
  const named = ids.slice(0, MAX_NAMED).join(', ')
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : ''
  const wait = failedRefunds.length === 1 ? 'waits' : 'wait'
  return `${plural(failedRefunds.length, 'failed refund')} ${wait} for you (${named}${more}).`
}

function describeFailed({ network, failedRefunds }: UnfinishedRail, seller: Seller): string {
  return `${lacks(network, seller)}, where ${waiting(failedRefunds)} Start with it once more to end them: ${BY_HAND}`
}

function lacks(network: string, { networks, label }: Seller): string {
  const place = placeOf(network)
  const named = networks.some((on) => on.network.id === network)
  return `${label} ${named ? `names ${place} with another token than before` : `does not name ${place}`}`
}

function placeOf(network: string): string {
  const name = findNetwork(network)?.name
  return `${network}${name ? ` (${name})` : ''}`
}

const plural = (count: number, what: string): string | undefined =>
  count === 0 ? undefined : `${count} ${what}${count === 1 ? '' : 's'}`
