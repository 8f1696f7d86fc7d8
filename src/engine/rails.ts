import { UnavailableError } from '../errors.ts'
import type { Alerts, ChallengeRow, Clock, Rail } from '../ports.ts'
import type { RailTerms } from '../rules/terms.ts'
import { tokenUnits } from '../rules/token-amount.ts'
import type { OfferedRail } from './outcome.ts'
import { type ChainHead, createChainHead } from './settle/chain-head.ts'

/** A rail, with the head of its chain as this instance knows it. */
export interface OpenRail extends Rail {
  readonly head: ChainHead
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
  /** Rows grouped by their rail, so that the outage of one chain does not affect the others. */
  group<R extends { rail: string }>(rows: readonly R[]): Array<[OpenRail, R[]]>
  /** How a new challenge of this price can be paid. */
  offered(amountMicro: string): readonly OfferedRail[]
  /** The same for a stored challenge, which keeps the recipient of the rail that it was opened on. */
  offeredOf(challenge: PricedChallenge): readonly OfferedRail[]
  /** The terms of a stored challenge on this rail. */
  termsOn(challenge: PricedChallenge, rail: Rail): { amount: string; payTo: Rail['payTo'] }
  explorerTxUrl(networkId: string): string
}

export function openRails(rails: readonly Rail[], parts: { clock: Clock; alerts: Alerts }): Rails {
  const all = rails.map((rail): OpenRail => ({ ...rail, head: createChainHead(parts) }))
  const [preferred] = all
  if (!preferred) throw new Error('a gateway needs at least one rail')
  const byId = new Map(all.map((rail) => [rail.id, rail]))
  const offers = new Map<string, readonly OfferedRail[]>()

  function of({ rail }: { rail: string }): OpenRail {
    const found = byId.get(rail)
    if (!found) throw new UnavailableError(`the rail ${rail}, which is not configured,`)
    return found
  }

  function termsOn(challenge: PricedChallenge, rail: Rail) {
    const payTo = challenge.rail === rail.id ? challenge.payTo : rail.payTo
    return { amount: tokenUnits(rail.network.token, challenge.amount), payTo }
  }

  function offered(amountMicro: string): readonly OfferedRail[] {
    const known = offers.get(amountMicro)
    if (known) return known
    const made = all.map((rail) => ({
      ...describe(rail),
      amount: tokenUnits(rail.network.token, amountMicro),
      payTo: rail.payTo,
    }))
    // The catalog has few prices; the limit keeps computed prices from growing the map without end.
    if (offers.size >= MAX_PRICES) offers.clear()
    offers.set(amountMicro, made)
    return made
  }

  return {
    all,
    preferred,
    terms: all.map(railTermsOf),
    find: (id) => byId.get(id),
    of,
    group(rows) {
      const groups = new Map<OpenRail, (typeof rows)[number][]>()
      for (const row of rows) {
        const rail = byId.get(row.rail)
        if (!rail) continue
        const group = groups.get(rail)
        if (group) group.push(row)
        else groups.set(rail, [row])
      }
      return [...groups]
    },
    offered,
    offeredOf(challenge) {
      const own = byId.get(challenge.rail)
      if (!own || own.payTo === challenge.payTo) return offered(challenge.amount)
      return all.map((rail) => ({ ...describe(rail), ...termsOn(challenge, rail) }))
    },
    termsOn,
    explorerTxUrl: (networkId) =>
      (all.find(({ network }) => network.id === networkId) ?? preferred).network.explorerTxUrl,
  }
}

const MAX_PRICES = 1000

const describe = ({ id, network, scheme }: Rail) => ({ id, network, scheme: scheme.name })

/** What a challenge's row says of the rail that it is paid on. */
export function railTermsOf({ id, network, payTo }: Rail): RailTerms {
  return { rail: id, network: network.id, asset: network.token.address, payTo }
}
