/** The types of the server's answers. Amounts are decimal strings of micro-units, with a `$` string beside them. */
import type { Plan, Route } from '../../src/protocol/catalog.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'

export type { PaymentRequired, Plan, Route }

export interface Session {
  loggedIn: boolean
  csrf?: string
  configured: boolean
  version: string
  network?: string
  agentName?: string
}

// ── Setup ───────────────────────────────────────────────────────────────────────────────────────────────

export interface NetworkChoice {
  id: string
  word: string
  /** Other words for it: `testnet`. */
  aliases: string[]
  name: string
  chainId: number
  asset: string
  testnet: boolean
  /** The symbol of the coin that pays for gas. */
  coin: string
  /** A facilitator is known that settles there. */
  facilitator: boolean
  /** Where test tokens are free. */
  faucet?: string
}

export type SettingValue = string | ReadonlyArray<Record<string, unknown>>

export interface SetupState {
  configured: boolean
  values: Record<string, SettingValue>
  secrets: Record<string, { set: boolean; hint?: string }>
  /** Set by the environment: shown, not editable. */
  locked: string[]
  missing: string[]
  faults: string[]
  networks: NetworkChoice[]
}

export interface Fault {
  name: string | null
  message: string
}

export type Level = 'ok' | 'warn' | 'error'

export interface FieldCheck {
  level: Level
  message: string
}

/** An absent secret is kept, null clears it. */
export interface SetupInput {
  values: Record<string, SettingValue>
  secrets: Record<string, string | null>
}

export interface CheckAnswer {
  fields: Record<string, FieldCheck>
  faults: Fault[]
  missing: Fault[]
  preview: PaymentRequired | null
  tooSmall: TooSmall[]
  snippets: { env: string; dockerRun: string; compose: string }
}

/** What is not offered on a network, because its price does not carry the gas there. */
export interface TooSmall {
  chainId: number
  /** Null: no price is enough. */
  leastAmount: string | null
  planIds: string[]
  routeIds: string[]
}

/** A description of an API, read and not yet taken over. */
export interface ImportPreview {
  title: string
  openapi: string
  backend: string | null
  backendFault?: string
  imported: Array<{
    route: Omit<Route, 'delivered'>
    kind: 'added' | 'changed' | 'same'
    changes: string[]
    note?: string
  }>
  notImported: Array<{ method: string; path: string; reason: string }>
  notes: string[]
}

export interface SaveAnswer {
  saved: true
  live: true
  url: string
}

// ── Dashboard ───────────────────────────────────────────────────────────────────────────────────────────

export const RANGES = ['24h', '7d', '30d', 'all'] as const
export type Range = (typeof RANGES)[number]

export interface SeriesPoint {
  at: string
  challenges: number
  paid: number
  delivered: number
  refunded: number
  micro: string
}

export interface WalletView {
  /** CAIP-2 id. */
  network: string
  role: 'receives' | 'gas' | 'refund'
  address: string
  /** Null if the network has no explorer. */
  explorerUrl: string | null
  usdcMicro?: string
  ethWei?: string
  /** Of what the balance is in. */
  symbol: string
  daysLeft?: number | null
  level: Level
  message?: string
  /** On a test network, where what the message asks for is free. */
  faucetUrl?: string
}

export interface AlertView {
  kind: string
  message: string
  at: string
  count: number
}

/** One of several networks: how payments on it stand, and what they brought. */
export interface NetworkView {
  /** CAIP-2 id. */
  network: string
  name: string
  token: string
  coin: string
  /** False: it is sold on no longer. */
  configured: boolean
  withdrawn: { reason: string; since: string } | null
  /** The least price that is offered on it. Null: every price is. */
  leastUsd: string | null
  sold: number
  micro: string
  usd: string
}

export interface Overview {
  range: Range
  network: string
  testnet: boolean
  asOf: string
  funnel: { challenges: number; paid: number; delivered: number; refunded: number }
  refunds: { waiting: number; failed: number }
  revenue: {
    micro: string
    usd: string
    /** What went back of it for unspent credits. */
    returned?: { micro: string; usd: string }
    perItem: Array<{ kind: 'plan' | 'route'; id: string; sold: number; micro: string; usd: string }>
  }
  latencyMs: { p50: number | null; p95: number | null; samples: number }
  wallets: WalletView[]
  series: SeriesPoint[]
  alerts: AlertView[]
  /** Only if there are several. */
  networks?: NetworkView[]
  reading?: { done: number; total: number }
}

export const STATES = [
  'PENDING',
  'PAID',
  'DELIVERED',
  'EXPIRED',
  'CANCELLED',
  'REFUND_PENDING',
  'REFUNDED',
  'REFUND_FAILED',
] as const
export type ChallengeState = (typeof STATES)[number]

export interface ChallengeItem {
  challengeId: string
  requestId: string
  transport: string
  kind: 'plan' | 'route'
  itemId: string
  resourceId: string
  state: ChallengeState
  micro: string
  usd: string
  /** Of a metered call: the most that it could cost. */
  maximumUsd?: string
  /** CAIP-2 id. */
  network: string
  payer: string | null
  txHash: string | null
  refundTxHash: string | null
  createdAt: string
  paidAt: string | null
  clientAgentId: string | null
}

export interface ChallengePage {
  items: ChallengeItem[]
  next: string | null
  /** Null: not counted, because not all sales were looked at. */
  total: number | null
}

export interface TimelineEntry {
  seq: number
  at: string
  event: string
  fromState: string | null
  toState: string | null
  actor: string
  txHash?: string | null
  details?: unknown
}

/** `sold` is the sum of spent, reserved, outstanding, expired, closed and lost. */
export interface CreditFigures {
  lots: number
  sold: number
  spent: number
  reserved: number
  outstanding: number
  expired: number
  /** Unspent, and refunded. */
  closed: number
  lost: number
  spentUnpaid: number
}

export interface CreditsView {
  asOf: string
  totals: CreditFigures
  perPlan: Array<CreditFigures & { planId: string }>
  /** Those that have most left. */
  perWallet: Array<CreditFigures & { payer: string }>
  wallets: number
}

export interface SaleCredits {
  challengeId: string
  granted: number
  spent: number
  reserved: number
  left: number
  status: 'running' | 'expired' | 'closing' | 'closed' | 'lost'
  expiresAt: string | null
  canClose: boolean
  unspentMicro: string
}

export interface ClosedCredits {
  status: 'closing' | 'closed'
  refund: { usd: string; phase: string; txHash: string | null } | null
}

export interface ChallengeDetail {
  challenge: ChallengeItem & {
    expiresAt: string
    failure: string | null
    resource: { method: string; path: string } | null
  }
  timeline: TimelineEntry[]
  receipts: Array<Record<string, unknown>>
  refunds: Array<Record<string, unknown>>
  explorer: { tx?: string; refundTx?: string }
  /** Only if it sold some. */
  credits?: SaleCredits
  /** Only if there are several networks. */
  networkName?: string
}

/** Who is told of events. */
export interface WebhookState {
  endpoints: Array<{ id: string; host: string; events: string[] | null }>
  /** Events that were tried in vain for days. */
  parked: number
}

/** An event on its way to one endpoint. */
export interface WebhookDelivery {
  key: string
  eventId: string
  type: string
  at: string
  phase: 'WAITING' | 'DELIVERED' | 'PARKED'
  answers: Array<{ at: string; status: number | null; text: string }>
}

export interface WaitingRefund extends ChallengeItem {
  reason: string | null
  attempts: number
  since: string
  failed?: boolean
  /** It returns a second payment; the sale stays as it is. */
  surplus?: boolean
  /** It returns unspent credits; the sale stays delivered. */
  credits?: boolean
}
