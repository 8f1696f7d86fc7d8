import { UnavailableError } from '../errors.ts'
import type { Alerts, ChallengeRow, Clock, Rail } from '../ports.ts'
import type { Network } from '../protocol/network.ts'
import type { CatalogItem } from '../rules/catalog.ts'
import { isMeteredRail } from '../rules/rail-id.ts'
import type { RailTerms } from '../rules/terms.ts'
import { tokenUnits } from '../rules/token-amount.ts'
import type { OfferedRail, RailState } from './outcome.ts'
import { createRailStandings, type RailStandings } from './rail-standing.ts'
import { type ChainHead, createChainHead } from './settle/chain-head.ts'

/** A rail, with the head of its chain as this instance knows it. */
export interface OpenRail extends Rail {
  readonly head: ChainHead
  /** Names the network in every message, if there are several rails. */
  readonly alerts: Alerts
}

type PricedChallenge = Pick<ChallengeRow, 'amount' | 'rail' | 'payTo'>

/** Every way to pay that this gateway offers. */
export interface Rails {
  readonly all: readonly OpenRail[]
  readonly preferred: OpenRail
  /** What a challenge's row says of each of them. */
  readonly terms: readonly RailTerms[]
  find(id: string): OpenRail | undefined
  /**
   * The rail of a stored row. Throws "unavailable" if it is no longer configured, because nothing may be decided
   * then.
   */
  of(row: { rail: string }): OpenRail
  /**
   * Rows grouped by their rail, so that the outage of one chain does not affect the others. Those of a rail that is not
   * configured are left out, and the operator gets an alert.
   */
  group<R extends { rail: string }>(rows: readonly R[]): Array<[OpenRail, R[]]>
  /** Alerts the operator, once, of unfinished rows of a rail or network that is not configured. */
  reportMissing(id: string): void
  /** Which of them can be offered now. */
  readonly standing: RailStandings
  /** The one on which a new challenge is opened. */
  preferredFor(item: Pick<CatalogItem, 'isMetered'>): OpenRail
  /** How a new challenge of this price can be paid. It stays the same list while nothing about it changes. */
  offered(amountMicro: string, isMetered?: boolean): readonly OfferedRail[]
  /** The same for a stored challenge, which keeps the recipient of the rail that it was opened on. */
  offeredOf(challenge: PricedChallenge): readonly OfferedRail[]
  /** The terms of a stored challenge on this rail. */
  termsOn(challenge: PricedChallenge, rail: Rail): { amount: string; payTo: Rail['payTo'] }
  /** Every rail as it stands now. */
  states(): readonly RailState[]
  explorerTxUrl(networkId: string): string
}

export function openRails(
  rails: readonly Rail[],
  parts: { clock: Clock; alerts: Alerts; maxGasShare?: number | undefined },
): Rails {
  const heads = new Map<string, Pick<OpenRail, 'alerts' | 'head'>>()
  const several = new Set(rails.map(({ network }) => network.id)).size > 1
  const all = rails.map((rail): OpenRail => {
    const { network } = rail
    const known = heads.get(network.id)
    if (known) return { ...rail, ...known }
    const alerts = several ? namingNetwork(parts.alerts, network) : parts.alerts
    const opened = { alerts, head: createChainHead({ ...parts, alerts }) }
    heads.set(network.id, opened)
    return { ...rail, ...opened }
  })
  const fixed = all.filter(({ scheme }) => !scheme.metered)
  const metered = all.filter(({ scheme }) => scheme.metered)
  const [preferred] = fixed
  if (!preferred) throw new Error('a gateway needs at least one rail')
  const byId = new Map(all.map((rail) => [rail.id, rail]))
  const standing = createRailStandings(all, parts)
  const offers = { fixed: new Map<string, PriceOffer>(), metered: new Map<string, PriceOffer>() }
  const missing = new Set<string>()

  function reportMissing(id: string): void {
    if (missing.has(id) || missing.size >= MAX_MISSING) return
    missing.add(id)
    parts.alerts.raise(
      'rail-missing',
      `payments or refunds on ${id} are not finished, and it is not configured: configure its network, with its token and gas wallet, until they are`,
    )
  }

  function of({ rail }: { rail: string }): OpenRail {
    const found = byId.get(rail)
    if (!found) throw new UnavailableError(`the rail ${rail}, which is not configured,`)
    return found
  }

  function termsOn(challenge: PricedChallenge, rail: Rail) {
    const payTo = challenge.rail === rail.id ? challenge.payTo : rail.payTo
    return { amount: tokenUnits(rail.network.token, challenge.amount), payTo }
  }

  // Clients would silently prefer one of two schemes, so an offer has rails of one kind only.
  function offered(amountMicro: string, isMetered = false): readonly OfferedRail[] {
    const priced = isMetered ? offers.metered : offers.fixed
    const wallets = isMetered ? metered.map(({ settlement }) => settlement.fundedWallet?.()).join() : ''
    const before = priced.get(amountMicro)
    const known = before?.wallets === wallets ? before : undefined
    if (known?.asOf === standing.changes) return known.list
    const some = standing.offerable(isMetered ? metered : fixed, amountMicro)
    if (known && isSameList(known.rails, some)) {
      known.asOf = standing.changes
      return known.list
    }
    const list = some.map((rail) => ({
      ...describe(rail),
      amount: tokenUnits(rail.network.token, amountMicro),
      payTo: rail.payTo,
    }))
    // The catalog has few prices; the limit keeps computed prices from growing the map without end.
    if (priced.size >= MAX_PRICES) priced.clear()
    priced.set(amountMicro, { asOf: standing.changes, rails: some, wallets, list })
    return list
  }

  return {
    all,
    preferred,
    preferredFor: ({ isMetered }) => (isMetered && metered[0]) || preferred,
    terms: all.map(railTermsOf),
    find: (id) => byId.get(id),
    of,
    group(rows) {
      const groups = new Map<OpenRail, (typeof rows)[number][]>()
      for (const row of rows) {
        const rail = byId.get(row.rail)
        if (!rail) {
          reportMissing(row.rail)
          continue
        }
        const group = groups.get(rail)
        if (group) group.push(row)
        else groups.set(rail, [row])
      }
      return [...groups]
    },
    reportMissing,
    offered,
    offeredOf(challenge) {
      const own = byId.get(challenge.rail)
      const isMetered = isMeteredRail(challenge.rail)
      if (!own || own.payTo === challenge.payTo) return offered(challenge.amount, isMetered)
      const some = standing.offerable(isMetered ? metered : fixed, challenge.amount)
      return some.map((rail) => ({ ...describe(rail), ...termsOn(challenge, rail) }))
    },
    termsOn,
    standing,
    states: () => fixed.map((rail) => ({ ...describe(rail), ...standing.of(rail) })),
    explorerTxUrl: (networkId) =>
      (all.find(({ network }) => network.id === networkId) ?? preferred).network.explorerTxUrl,
  }
}

const MAX_PRICES = 1000
/** Rail ids come from stored rows, so there are few; the limit is for a store that somebody else has filled. */
const MAX_MISSING = 100

/** With several networks, messages about one name it. */
export function namingNetwork(alerts: Alerts, network: Network): Alerts {
  return { raise: (kind, message) => alerts.raise(kind, `${network.name}: ${message}`) }
}

/** The offer of one price, and up to which change of the rails it is known to be right. */
interface PriceOffer {
  asOf: number
  rails: readonly OpenRail[]
  /** The wallets that offers of metered calls name. */
  wallets: string
  list: readonly OfferedRail[]
}

function isSameList(one: readonly OpenRail[], other: readonly OpenRail[]): boolean {
  return one.length === other.length && one.every((rail, index) => rail === other[index])
}

const describe = ({ id, network, scheme, settlement }: Rail) => ({
  id,
  network,
  scheme: scheme.name,
  ...(scheme.offerExtra && { extra: scheme.offerExtra(settlement.fundedWallet?.()) }),
})

/** What a challenge's row says of the rail that it is paid on. */
export function railTermsOf({ id, network, payTo }: Rail): RailTerms {
  return { rail: id, network: network.id, asset: network.token.address, payTo }
}
