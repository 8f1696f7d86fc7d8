import type {
  AlertKind,
  Alerts,
  Backend,
  Chain,
  ChallengeRow,
  Clock,
  Delivery,
  Hooks,
  Order,
  Random,
  RefundSigner,
  RowBase,
  Settlement,
  Signatures,
  Step,
  Store,
} from '../ports.ts'
import type { SvcPayment } from '../protocol/access.ts'
import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { PaymentRequired, SettleResponse } from '../protocol/payment.ts'
import type { Catalog } from '../rules/catalog.ts'
import type { IdKey } from '../rules/challenge-id.ts'
import { type ChallengeTerms, paymentRequired } from '../rules/requirements.ts'
import type { ChainHead } from './chain-head.ts'
import type { UnpaidLog } from './log-unpaid.ts'
import type { PayerRoom } from './payer-room.ts'
import type { Signals } from './signals.ts'

export interface EngineConfig {
  network: Network
  payTo: Address
  baseUrl: string
  catalog: Catalog
  /** Newest first: the first signs challenge ids, all verify them. */
  idKeys: readonly IdKey[]
  challengeTtlMs: number
  /** How long a paying request waits for an outcome before it answers SETTLEMENT_PENDING. */
  settleWaitMs: number
  pollIntervalMs: number
  /** Results of other instances are noticed by looking at the store this often. */
  storePollMs: number
  /** How long a payment may wait for others to travel with, while earlier ones are under way. */
  gatherMs: number
  /** After so long without another one, it waits no more. */
  quietMs: number
  confirmations: number
  /** Age at which a paid, undelivered route call is refunded. */
  refundMinAgeMs: number
  refundIntervalMs: number
  refundMaxAttempts: number
  jobIntervalMs: number
  /** How long an instance may hold a row before another takes it over. */
  leaseMs: number
  deliveryLeaseMs: number
  /** Failing payments per payer and minute before RATE_LIMITED. */
  payerFailuresPerMinute: number
  /** Undelivered calls per payer and day (UTC) before RATE_LIMITED, those in flight included; absent: no limit. */
  payerUndeliveredPerDay?: number
  /** Gas that our wallets may lose a day (UTC) to payments that fail on chain: of one payer, and in all. */
  lostGasPerDay?: { perPayer: number; inAll: number }
  /** Age, counted from the payment, at which results are taken away; absent: never. */
  retentionMs?: number
}

export interface Ports {
  store: Store
  chain: Chain
  settlement: Settlement
  /** Who may send refunds, in this order; absent: whoever sends payments. `settlement` tends them all. */
  refundSubmitters?: readonly Settlement[]
  signatures: Signatures
  delivery: Delivery
  /** Needed for routes, unless they are all embedded. */
  backend?: Backend
  refundSigner?: RefundSigner
  clock: Clock
  random: Random
  alerts: Alerts
  hooks: Hooks
}

/** What every engine function works on. */
export interface Core extends Ports {
  config: EngineConfig
  signals: Signals
  head: ChainHead
  payers: PayerRoom
  unpaidLog: UnpaidLog
  /** What the operator was told once and need not be told again. */
  told: Set<string>
}

const MAX_TOLD = 1000

export function alertOnce(core: Core, about: string, kind: AlertKind, message: string): void {
  if (core.told.has(about)) return
  if (core.told.size >= MAX_TOLD) core.told.clear()
  core.told.add(about)
  core.alerts.raise(kind, message)
}

/**
 * One atomic step. False: somebody else was first; read again. Wakes whoever waits for these challenges, after `applied`
 * was called.
 */
export async function commit(core: Core, step: Step, applied?: () => void): Promise<boolean> {
  const result = await core.store.commit(step)
  if (result.kind === 'applied') applied?.()
  for (const put of step.puts) {
    if (put.table === 'challenges') core.signals.notify(put.row.key)
    else if (put.table === 'authorizations') core.signals.notify(put.row.challengeId)
  }
  return result.kind === 'applied'
}

/** The row as it is stored after a commit that was applied. */
export function stored<R extends RowBase>(row: R): R {
  return { ...row, version: row.version + 1 }
}

export async function getOne<N extends Parameters<Store['get']>[0]>(core: Core, table: N, key: string) {
  const [row] = await core.store.get(table, [key])
  return row
}

export function randomText(core: Core, bytes: number): string {
  const drawn = core.random.bytes(bytes)
  return (Buffer.isBuffer(drawn) ? drawn : Buffer.from(drawn)).toString('base64url')
}

/** A fresh 402 for this challenge. */
export function requireFor(core: Core, challenge: ChallengeTerms, error: string): PaymentRequired {
  const { plans, routes } = core.config.catalog
  const item = (challenge.kind === 'plan' ? plans : routes).get(challenge.itemId)
  const description = item?.description ?? challenge.itemId
  return paymentRequired(challenge, core.config, description, randomText(core, 16), error)
}

export function orderOf(challenge: ChallengeRow): Order {
  if (challenge.payer === null || challenge.txHash === null || challenge.paidAt === null) {
    throw new Error(`challenge ${challenge.key} has no payment`)
  }
  return {
    challengeId: challenge.key,
    requestId: challenge.requestId,
    kind: challenge.kind,
    itemId: challenge.itemId,
    resourceId: challenge.resourceId,
    resource: challenge.resource,
    payer: challenge.payer,
    amount: challenge.amount,
    network: challenge.network,
    txHash: challenge.txHash,
    clientAgentId: challenge.clientAgentId,
    paidAt: challenge.paidAt,
  }
}

export function settledReceipt(challenge: ChallengeRow): SettleResponse {
  return {
    success: true,
    transaction: challenge.txHash ?? '',
    network: challenge.network,
    ...(challenge.payer !== null && { payer: challenge.payer }),
  }
}

export function paymentOf(core: Core, order: Order): SvcPayment {
  const item = order.kind === 'plan' ? { planId: order.itemId } : { routeId: order.itemId }
  return {
    txHash: order.txHash,
    explorerUrl: `${core.config.network.explorerTxUrl}${order.txHash}`,
    payer: order.payer,
    amount: order.amount,
    network: order.network,
    ...item,
    resourceId: order.resourceId,
    challengeId: order.challengeId,
    requestId: order.requestId,
  }
}
