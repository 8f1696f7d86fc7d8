import type { AlertView, ChallengeItem, Overview, Range, SeriesPoint } from '../shared/wire.ts'
import { FIXTURE_NETWORKS } from './fixture-sales.ts'

const HOUR = 3_600_000
const SPANS: Record<Range, [spanMs: number, stepMs: number]> = {
  '24h': [24 * HOUR, HOUR],
  '7d': [7 * 24 * HOUR, 6 * HOUR],
  '30d': [30 * 24 * HOUR, 24 * HOUR],
  all: [30 * 24 * HOUR, 24 * HOUR],
}

/** The figures of a range, counted from the made-up sales as the server counts the real ones. */
export function overviewOf(
  sales: ChallengeItem[],
  alerts: AlertView[],
  range: Range,
  nowMs: number,
  several = false,
): Overview {
  const [spanMs, stepMs] = SPANS[range]
  const start = Math.floor((nowMs - spanMs) / stepMs) * stepMs + stepMs
  const within = sales.filter(({ createdAt }) => Date.parse(createdAt) >= start)
  const points = new Map<number, ChallengeItem[]>()
  for (let at = start; at <= nowMs; at += stepMs) points.set(at, [])
  for (const sale of within) {
    points.get(start + Math.floor((Date.parse(sale.createdAt) - start) / stepMs) * stepMs)?.push(sale)
  }
  const sum = microOf(within)
  return {
    range,
    network: 'eip155:84532',
    testnet: true,
    asOf: new Date(nowMs).toISOString(),
    funnel: countsOf(within),
    refunds: {
      waiting: sales.filter(({ state }) => state === 'REFUND_PENDING').length,
      failed: sales.filter(({ state }) => state === 'REFUND_FAILED').length,
    },
    revenue: { micro: String(sum), usd: usdOf(sum), perItem: perItem(within) },
    latencyMs:
      within.length === 0 ? { p50: null, p95: null, samples: 0 } : { p50: 2140, p95: 4380, samples: 200 },
    wallets: walletsOf(sum, several),
    series: [...points].map(([at, part]): SeriesPoint => {
      return { at: new Date(at).toISOString(), ...countsOf(part), micro: String(microOf(part)) }
    }),
    alerts,
    ...(several && { networks: networksOf(within, nowMs) }),
  }
}

const SELLER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const GAS_WALLET = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

function walletsOf(sum: number, several: boolean): Overview['wallets'] {
  return FIXTURE_NETWORKS.slice(0, several ? 3 : 1).flatMap(({ network, coin, explorer, ethWei }, index) => {
    const at = (address: string) => ({ network, address, explorerUrl: `${explorer}${address}` })
    const usdcMicro = String(index === 0 ? 412_340_000 + sum : 52_100_000)
    const isLow = index === 0
    return [
      { ...at(SELLER), role: 'receives', usdcMicro, symbol: 'USDC', level: 'ok' },
      {
        ...at(GAS_WALLET),
        ...{ role: 'gas', ethWei, symbol: coin, level: isLow ? 'warn' : 'ok' },
        ...(isLow && { daysLeft: 4.6, message: LOW_GAS, faucetUrl: GAS_FAUCET }),
      },
      { ...at(SELLER), role: 'refund', usdcMicro, symbol: 'USDC', level: 'ok' },
    ] as Overview['wallets']
  })
}

const LOW_GAS = 'ETH for about 4.6 days at the present rate'
const GAS_FAUCET = 'https://docs.base.org/base-chain/network-information/network-faucets'

function networksOf(sales: ChallengeItem[], nowMs: number): Overview['networks'] {
  return FIXTURE_NETWORKS.map(({ network, name, coin }, index) => {
    const own = sales.filter((sale) => sale.network === network)
    const micro = microOf(own)
    return {
      ...{ network, name, coin, token: 'USDC', configured: true, sold: countsOf(own).delivered },
      ...{ micro: String(micro), usd: usdOf(micro), leastUsd: index === 2 ? '$0.05' : null },
      withdrawn:
        index === 1
          ? { reason: 'the chain cannot be reached', since: new Date(nowMs - 240_000).toISOString() }
          : null,
    }
  })
}

function countsOf(sales: ChallengeItem[]): Overview['funnel'] {
  return {
    challenges: sales.length,
    paid: sales.filter(({ payer }) => payer !== null).length,
    delivered: sales.filter(({ state }) => state === 'DELIVERED').length,
    refunded: sales.filter(({ state }) => state === 'REFUNDED').length,
  }
}

function perItem(sales: ChallengeItem[]): Overview['revenue']['perItem'] {
  const groups = new Map<string, ChallengeItem[]>()
  for (const sale of sales) groups.set(sale.itemId, [...(groups.get(sale.itemId) ?? []), sale])
  return [...groups].flatMap(([id, group]) => {
    const sold = group.filter(({ state }) => state === 'DELIVERED').length
    const micro = microOf(group)
    const kind = group[0]?.kind ?? 'plan'
    return sold === 0 ? [] : [{ kind, id, sold, micro: String(micro), usd: usdOf(micro) }]
  })
}

const microOf = (sales: ChallengeItem[]): number =>
  sales.reduce((sum, { micro, state }) => sum + (state === 'DELIVERED' ? Number(micro) : 0), 0)

const usdOf = (micro: number): string => `$${(micro / 1e6).toFixed(2)}`
