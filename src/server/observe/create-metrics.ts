import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { CreditFigures } from '../../rules/credit-lot.ts'
import { waitAtMost } from '../wait-at-most.ts'

/** Read at every scrape; if a source fails or takes too long, its figures keep their last values. */
export interface GaugeSources {
  challenges(): Promise<Record<string, number>>
  gasWallets(): Promise<Array<{ network: string; coin: string; address: string; ethWei: bigint }>>
  /** What became of the credits of each plan. */
  credits(): Promise<
    ReadonlyArray<{ planId: string } & Pick<CreditFigures, 'outstanding' | 'expired' | 'closed' | 'lost'>>
  >
  /** Networks by CAIP-2 id, and whether payments on them are offered. */
  rails(): ReadonlyArray<{ network: string; available: boolean }>
}

const SCRAPE_LIMIT_MS = 5_000
const SETTLEMENT_SECONDS = [0.25, 0.5, 1, 2, 3, 5, 8, 13, 21, 34, 60, 120, 300]

export type Metrics = ReturnType<typeof createMetrics>

/** The gateway's figures for Prometheus, in a registry of their own. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  let sources: GaugeSources | undefined
  const payments = new Counter({
    name: 'svc_payments_total',
    help: 'Answered purchases by transport, mode (subscription, pay-per-call), outcome and the network of the payment',
    labelNames: ['transport', 'mode', 'outcome', 'network'],
    registers,
  })
  const offers = new Map<string, Map<string, number>>()
  const settlement = new Histogram({
    name: 'svc_settlement_duration_seconds',
    help: 'From the claim of a payment to its confirmation on the chain',
    labelNames: ['network'],
    buckets: SETTLEMENT_SECONDS,
    registers,
  })
  const refunds = new Counter({
    name: 'svc_refunds_total',
    help: 'Refunds by outcome (owed, confirmed, failed) and network',
    labelNames: ['outcome', 'network'],
    registers,
  })
  const challenges = new Gauge({
    name: 'svc_challenges',
    help: 'Challenges ever recorded, by the state they are in',
    labelNames: ['state'],
    registers,
  })
  const gas = new Gauge({
    name: 'svc_gas_wallet_balance_eth',
    help: "What each gas wallet holds of its network's own coin, whatever that is called; at most a minute old",
    labelNames: ['address', 'network', 'coin'],
    registers,
  })
  const available = new Gauge({
    name: 'svc_rail_available',
    help: '1 while payments on a network are offered, 0 while it is withdrawn from new offers',
    labelNames: ['network'],
    registers,
  })
  const creditsSold = new Counter({
    name: 'svc_credits_sold_total',
    help: 'Credits granted by purchases that this instance delivered, by plan',
    labelNames: ['plan'],
    registers,
  })
  const creditsSpent = new Counter({
    name: 'svc_credits_spent_total',
    help: 'Credits debited for calls that this instance answered, by plan',
    labelNames: ['plan'],
    registers,
  })
  const prepaidCalls = new Counter({
    name: 'svc_prepaid_calls_total',
    help: 'Prepaid calls by outcome: debited, given-back, repeated, exhausted, or the code of another refusal',
    labelNames: ['outcome'],
    registers,
  })
  const credited = {
    outstanding: new Gauge({
      name: 'svc_credits_outstanding',
      help: 'Credits that can still be spent, by plan',
      labelNames: ['plan'],
      registers,
    }),
    expired: new Gauge({
      name: 'svc_credits_expired',
      help: 'Credits that were not spent in time, by plan',
      labelNames: ['plan'],
      registers,
    }),
    closed: new Gauge({
      name: 'svc_credits_closed',
      help: 'Credits that were unspent when you closed their purchase, and were refunded, by plan',
      labelNames: ['plan'],
      registers,
    }),
    lost: new Gauge({
      name: 'svc_credits_lost',
      help: 'Credits that were unspent when the chain took their payment back, by plan',
      labelNames: ['plan'],
      registers,
    }),
  }
  const spent = new Map<string, number>()
  const calls = new Map<string, number>()
  const alerts = new Counter({
    name: 'svc_alerts_total',
    help: 'Alerts raised, by kind',
    labelNames: ['kind'],
    registers,
  })

  async function readGauges({ challenges: states, gasWallets, credits, rails }: GaugeSources): Promise<void> {
    available.reset()
    for (const rail of rails()) available.set({ network: rail.network }, rail.available ? 1 : 0)
    await Promise.allSettled([
      states().then((counts) => {
        for (const [state, count] of Object.entries(counts)) challenges.set({ state }, count)
      }),
      credits().then((plans) => {
        for (const gauge of Object.values(credited)) gauge.reset()
        for (const { planId: plan, outstanding, expired, closed, lost } of plans) {
          credited.outstanding.set({ plan }, outstanding)
          credited.expired.set({ plan }, expired)
          credited.closed.set({ plan }, closed)
          credited.lost.set({ plan }, lost)
        }
      }),
      gasWallets().then((wallets) => {
        gas.reset()
        const several = rails().length > 1
        for (const { address, network, coin, ethWei } of wallets) {
          gas.set({ address, ...(several && { network, coin }) }, Number(ethWei) / 1e18)
        }
      }),
    ])
  }

  /** There are many offers, so they are counted in a plain map and added to the counter at a scrape. */
  function flushOffers(): void {
    for (const [transport, counts] of offers)
      for (const [mode, count] of counts) payments.inc({ transport, mode, outcome: 'challenge' }, count)
    offers.clear()
  }

  /** The same for prepaid calls. */
  function flushCalls(): void {
    for (const [plan, credits] of spent) creditsSpent.inc({ plan }, credits)
    for (const [outcome, count] of calls) prepaidCalls.inc({ outcome }, count)
    spent.clear()
    calls.clear()
  }

  return {
    payments,
    /** A 402: `svc_payments_total` with the outcome `challenge`. */
    countOffer(transport: string, mode: string): void {
      const counts = offers.get(transport)
      if (counts) counts.set(mode, (counts.get(mode) ?? 0) + 1)
      else offers.set(transport, new Map([[mode, 1]]))
    },
    /** A prepaid call; `debited`: what it was debited, and from which plan. */
    countPrepaid(outcome: string, debited?: { planId: string; credits: number }): void {
      calls.set(outcome, (calls.get(outcome) ?? 0) + 1)
      if (debited) spent.set(debited.planId, (spent.get(debited.planId) ?? 0) + debited.credits)
    },
    creditsSold,
    settlement,
    refunds,
    alerts,
    /** Sets the sources of the gauges; the next gateway sets its own. The returned function removes them if they are still set. */
    setSources(next: GaugeSources): () => void {
      sources = next
      return () => {
        if (sources === next) sources = undefined
      }
    },
    async text(): Promise<string> {
      if (sources) await waitAtMost(SCRAPE_LIMIT_MS, readGauges(sources))
      flushOffers()
      flushCalls()
      return registry.metrics()
    },
  }
}
