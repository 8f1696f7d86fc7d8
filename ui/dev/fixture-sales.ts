import { microToDollars } from '../../src/protocol/amount.ts'
import type { ChallengeDetail, ChallengeItem, ChallengeState, TimelineEntry } from '../shared/wire.ts'
import { createRandom, randomHex } from './random.ts'

const ITEMS = [
  { kind: 'plan', itemId: 'hourly', micro: 250_000, weight: 5 },
  { kind: 'plan', itemId: 'monthly', micro: 12_000_000, weight: 1 },
  { kind: 'route', itemId: 'weather', micro: 10_000, weight: 9 },
  { kind: 'route', itemId: 'forecast', micro: 50_000, weight: 4 },
  { kind: 'route', itemId: 'chat', micro: 1_858, maximumUsd: '$0.02', weight: 3 },
] as const
export const FIXTURE_NETWORKS = [
  {
    ...{ network: 'eip155:84532', name: 'Base Sepolia', coin: 'ETH', ethWei: '3120000000000000' },
    ...{ explorer: 'https://sepolia.basescan.org/address/', tx: 'https://sepolia.basescan.org/tx/' },
  },
  {
    ...{ network: 'eip155:421614', name: 'Arbitrum Sepolia', coin: 'ETH', ethWei: '91200000000000000' },
    ...{ explorer: 'https://sepolia.arbiscan.io/address/', tx: 'https://sepolia.arbiscan.io/tx/' },
  },
  {
    ...{ network: 'eip155:11142220', name: 'Celo Sepolia', coin: 'CELO', ethWei: '4800000000000000000' },
    ...{
      explorer: 'https://celo-sepolia.blockscout.com/address/',
      tx: 'https://celo-sepolia.blockscout.com/tx/',
    },
  },
] as const
const AGENTS = [null, null, 'did:web:orders.example', 'agent://research-assistant', null]

export interface Sales {
  items: ChallengeItem[]
  /** One more sale, now. */
  sell(nowMs: number): ChallengeItem
  detail(item: ChallengeItem): ChallengeDetail
}

/** A week of made-up sales: busy by day, quiet at night, with the odd failure. */
export function createSales(nowMs: number, count = 640, several = false): Sales {
  const random = createRandom(7)
  const makeSale = (atMs: number, fresh: boolean): ChallengeItem => {
    const sale = makeSaleOn(random, atMs, fresh)
    return several ? { ...sale, network: FIXTURE_NETWORKS[Math.floor(random() * 3)]!.network } : sale
  }
  const items: ChallengeItem[] = []
  while (items.length < count) {
    const agoMs = random() * 7 * 86_400_000
    const hour = new Date(nowMs - agoMs).getUTCHours()
    if (random() > 0.35 + 0.6 * Math.sin((Math.max(0, hour - 5) / 18) * Math.PI)) continue
    items.push(makeSale(nowMs - agoMs, agoMs < 900_000))
  }
  items.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
  force(items, 3, 'REFUND_PENDING', random)
  force(items, 9, 'REFUND_FAILED', random)
  return {
    items,
    sell(atMs) {
      const sale = makeSale(atMs, true)
      items.unshift(sale)
      return sale
    },
    detail: (item) => detailOf(item, several),
  }
}

function makeSaleOn(random: () => number, atMs: number, fresh: boolean): ChallengeItem {
  const item = pick(random)
  const luck = random()
  const state: ChallengeState =
    luck < 0.72
      ? 'DELIVERED'
      : luck < 0.74
        ? 'REFUNDED'
        : fresh
          ? 'PENDING'
          : luck < 0.75
            ? 'CANCELLED'
            : 'EXPIRED'
  const paid = state === 'DELIVERED' || state === 'REFUNDED'
  const transport = random() < 0.75 ? 'http' : random() < 0.6 ? 'mcp' : 'a2a'
  return {
    challengeId: `${transport}-${randomHex(random, 44).slice(2)}`,
    requestId: randomHex(random, 32).slice(2),
    transport,
    kind: item.kind,
    itemId: item.itemId,
    resourceId: 'default',
    state,
    micro: String(item.micro),
    usd: microToDollars(BigInt(item.micro)),
    ...(paid && 'maximumUsd' in item && { maximumUsd: item.maximumUsd }),
    network: FIXTURE_NETWORKS[0].network,
    payer: paid ? randomHex(random, 40) : null,
    txHash: paid ? randomHex(random, 64) : null,
    refundTxHash: state === 'REFUNDED' ? randomHex(random, 64) : null,
    createdAt: new Date(atMs).toISOString(),
    paidAt: paid ? new Date(atMs + 1500 + random() * 3000).toISOString() : null,
    clientAgentId: AGENTS[Math.floor(random() * AGENTS.length)] ?? null,
  }
}

function pick(random: () => number): (typeof ITEMS)[number] {
  let at = random() * ITEMS.reduce((sum, { weight }) => sum + weight, 0)
  for (const item of ITEMS) {
    at -= item.weight
    if (at < 0) return item
  }
  return ITEMS[0]
}

function force(items: ChallengeItem[], index: number, state: ChallengeState, random: () => number): void {
  const item = items[index]
  if (!item) return
  const paidAt = new Date(Date.parse(item.createdAt) + 2000).toISOString()
  Object.assign(item, {
    state,
    payer: randomHex(random, 40),
    txHash: randomHex(random, 64),
    paidAt,
    refundTxHash: null,
  })
}

function detailOf(item: ChallengeItem, several: boolean): ChallengeDetail {
  const { name, tx: explorer } = FIXTURE_NETWORKS.find(({ network }) => network === item.network)!
  const startMs = Date.parse(item.createdAt)
  return {
    challenge: {
      ...item,
      expiresAt: new Date(startMs + 900_000).toISOString(),
      failure: item.state.startsWith('REFUND') ? 'the backend answered 503 Service Unavailable' : null,
      resource: item.kind === 'route' ? { method: 'GET', path: `/${item.itemId}/lisbon?units=metric` } : null,
    },
    timeline: timelineOf(item, startMs),
    receipts: [],
    refunds: [],
    explorer: {
      ...(item.txHash && { tx: explorer + item.txHash }),
      ...(item.refundTxHash && { refundTx: explorer + item.refundTxHash }),
    },
    ...(several && { networkName: name }),
  }
}

function timelineOf(item: ChallengeItem, startMs: number): TimelineEntry[] {
  const paid = item.payer !== null
  const steps: Array<[event: string, to: ChallengeState, actor: string, afterMs: number]> = [
    ['challenge_opened', 'PENDING', 'buyer', 0],
  ]
  if (paid) {
    steps.push(['payment_claimed', 'PENDING', 'buyer', 900], ['payment_broadcast', 'PENDING', 'engine', 1100])
    steps.push(['payment_confirmed', 'PAID', 'engine', 2400])
  }
  if (item.state === 'DELIVERED') steps.push(['delivered', 'DELIVERED', 'engine', 2450])
  if (item.state === 'EXPIRED') steps.push(['expired', 'EXPIRED', 'job', 900_000])
  if (item.state === 'CANCELLED') steps.push(['cancelled', 'CANCELLED', 'operator', 60_000])
  if (item.state.startsWith('REFUND')) {
    steps.push(
      ['delivery_failed', 'PAID', 'engine', 3400],
      ['refund_queued', 'REFUND_PENDING', 'job', 303_000],
    )
  }
  if (item.state === 'REFUNDED') steps.push(['refund_confirmed', 'REFUNDED', 'job', 1_260_000])
  if (item.state === 'REFUND_FAILED') steps.push(['refund_failed', 'REFUND_FAILED', 'job', 1_500_000])
  let from: string | null = null
  return steps.map(([event, toState, actor, afterMs], index) => {
    const entry = {
      seq: index + 1,
      at: new Date(startMs + afterMs).toISOString(),
      event,
      fromState: from,
      toState,
      actor,
    }
    from = toState
    const isMoney = event === 'payment_confirmed' || event === 'refund_confirmed'
    return {
      ...entry,
      ...(isMoney && { txHash: event === 'refund_confirmed' ? item.refundTxHash : item.txHash }),
    }
  })
}
