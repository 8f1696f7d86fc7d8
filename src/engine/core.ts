import type {
  AlertKind,
  Alerts,
  AskPrice,
  Backend,
  ChallengeRow,
  Clock,
  Delivery,
  Hooks,
  Order,
  Rail,
  Random,
  ReceiptSigner,
  RowBase,
  Step,
  Store,
  Webhooks,
} from '../ports.ts'
import type { SvcPayment } from '../protocol/access.ts'
import type { Address } from '../protocol/hex.ts'
import type { Catalog } from '../rules/catalog.ts'
import type { IdKey } from '../rules/challenge-id.ts'
import type { PayerRoom } from './budgets/payer-room.ts'
import type { UnpaidLog } from './challenge/log-unpaid.ts'
import type { Offer, OfferedRail, SettledPayment } from './outcome.ts'
import type { Rails } from './rails.ts'
import type { Signals } from './signals.ts'

export interface EngineConfig {
  baseUrl: string
  catalog: Catalog
  /** Plans that no longer grant credits, and of which some were bought before. */
  formerCreditPlans?: readonly string[]
  /** Newest first: the first signs challenge ids, all verify them. */
  idKeys: readonly IdKey[]
  challengeTtlMs: number
  /** Absent: offers were never made under anything else. */
  formerOffers?: FormerOffers
  /** How long a paying request waits for an outcome before it answers SETTLEMENT_PENDING. */
  settleWaitMs: number
  /** The shortest time between two questions to the chain, and the pause after it did not answer. */
  pollIntervalMs: number
  /** How often the store is polled for results of other instances. */
  storePollMs: number
  /** How long a payment may wait to share a transaction with others, while earlier payments are under way. */
  gatherMs: number
  /** A payment stops waiting earlier if no other arrives for this long. */
  quietMs: number
  /** Age at which a paid, undelivered route call is refunded. */
  refundMinAgeMs: number
  refundIntervalMs: number
  refundMaxAttempts: number
  jobIntervalMs: number
  /** How long an instance may hold a row before another may take it. */
  leaseMs: number
  deliveryLeaseMs: number
  /** How long the answer to a call may take: a metered payment must stay valid for longer. */
  callTimeoutMs?: number
  /** Failing payments per payer and minute before RATE_LIMITED. */
  payerFailuresPerMinute: number
  /** Undelivered calls per payer and day (UTC) before RATE_LIMITED, those in flight included; absent: no limit. */
  payerUndeliveredPerDay?: number
  /**
   * Gas, in micro-dollars, that our wallets may lose a day (UTC) on one chain to payments that fail there: of one
   * payer, and in all.
   */
  lostGasPerDay?: { perPayer: number; inAll: number }
  /**
   * A further rail is offered only while the gas of settling one payment is at most this share of the price (0 to 1);
   * absent: for every price.
   */
  maxGasShare?: number
  /** Age, counted from the payment, at which results are removed; absent: never. */
  retentionMs?: number
}

/** What offers were made under before the seller changed it. */
export interface FormerOffers {
  /** How long terms were valid. */
  ttls: ReadonlyArray<Former<{ ttlMs: number }>>
  /** What was paid, by the CAIP-2 id of its network. */
  wallets: ReadonlyArray<Former<{ network: string; payTo: Address }>>
}

/** `lastExpiry`: when (ms) the last offer that was made under it expires. One that expires later was made under something else. */
export type Former<T> = T & { lastExpiry: number }

export interface Ports {
  store: Store
  /** In the seller's order: the first is preferred. At least one. */
  rails: readonly Rail[]
  delivery: Delivery
  /** Needed for routes, unless they are all embedded. */
  backend?: Backend
  /** Needed for metered routes that the seller's own handlers answer. */
  handlers?: Backend
  /** Needed if the price of a route is computed. */
  askPrice?: AskPrice
  clock: Clock
  random: Random
  alerts: Alerts
  hooks: Hooks
  /** Absent: receipts are not signed. */
  receipts?: ReceiptSigner
  /** Absent: nobody is told of events. */
  webhooks?: Webhooks
}

/** What every engine function works on. */
export interface Core extends Omit<Ports, 'rails'> {
  config: EngineConfig
  rails: Rails
  signals: Signals
  payers: PayerRoom
  unpaidLog: UnpaidLog
  /** Called when a purchase has added credits to an account. */
  creditsAdded(account: string): void
  /** The subjects of alerts that were raised once and are not repeated. */
  alerted: Set<string>
}

const MAX_ALERTED = 1000

/** How often a step is tried again after a conflict with another writer. */
export const MAX_RACES = 8

export function alertOnce(core: Core, about: string, kind: AlertKind, message: string): void {
  if (core.alerted.has(about)) return
  if (core.alerted.size >= MAX_ALERTED) core.alerted.clear()
  core.alerted.add(about)
  core.alerts.raise(kind, message)
}

/**
 * Commits one atomic step. False: another writer was first, so the rows must be read again. Calls `applied` on
 * success, and then wakes the requests that wait for these challenges.
 */
export async function commit(core: Core, step: Step, applied?: () => void): Promise<boolean> {
  const result = await core.store.commit(step)
  if (result.kind === 'applied') applied?.()
  for (const put of step.puts) {
    if (put.table === 'challenges') core.signals.notify(put.row.key)
    else if (put.table === 'authorizations') core.signals.notify(put.row.challengeId)
    else if (put.table === 'credits' && put.row.version === 0) core.creditsAdded(put.row.ref!)
  }
  return result.kind === 'applied'
}

/** The row as it is stored after a commit that was applied. */
export function afterCommit<R extends RowBase>(row: R): R {
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

export type OfferedChallenge = Pick<
  ChallengeRow,
  'key' | 'requestId' | 'kind' | 'itemId' | 'resourceId' | 'resource' | 'expiresAt'
>

/**
 * An offer of this challenge with a new salt. Written field by field: this runs for every 402, where spreading shows
 * in the profile.
 */
export function offerOf(
  core: Core,
  { key, requestId, kind, itemId, resourceId, resource, expiresAt }: OfferedChallenge,
  rails: readonly OfferedRail[],
  message: string,
): Offer {
  const { catalog } = core.config
  const item = (kind === 'plan' ? catalog.plans : catalog.routes).get(itemId)
  return {
    challengeId: key,
    requestId,
    kind,
    itemId,
    resourceId,
    resource,
    description: item?.description ?? itemId,
    rails,
    salt: randomText(core, 16),
    expiresAt,
    message,
  }
}

/** The same for a stored challenge. */
export function offerAgain(core: Core, challenge: Omit<ChallengeRow, 'result'>, message: string): Offer {
  return offerOf(core, challenge, core.rails.offeredOf(challenge), message)
}

export function orderOf(challenge: ChallengeRow): Order {
  // A metered call that cost nothing has no transaction.
  const txHash = challenge.charged === '0' ? '' : challenge.txHash
  if (challenge.payer === null || txHash === null || challenge.paidAt === null) {
    throw new Error(`challenge ${challenge.key} has no payment`)
  }
  const { payer, paidAt, amount, charged = amount } = challenge
  return orderFor(challenge, { payer, paidAt, amount: charged, txHash })
}

/** An order of this challenge, with what is known of its payment. */
export function orderFor(
  challenge: ChallengeRow,
  payment: Pick<Order, 'payer' | 'paidAt' | 'amount' | 'txHash'>,
): Order {
  const {
    key: challengeId,
    requestId,
    kind,
    itemId,
    resourceId,
    resource,
    network,
    clientAgentId,
  } = challenge
  return {
    ...{ challengeId, requestId, kind, itemId, resourceId, resource, network, clientAgentId },
    ...payment,
  }
}

export function settledPayment({
  txHash,
  network,
  payer,
  paidAt,
  chargedUnits,
  signedReceipt,
}: ChallengeRow): SettledPayment {
  return {
    network,
    txHash: txHash ?? '',
    ...(payer !== null && { payer }),
    ...(chargedUnits !== undefined && { amount: chargedUnits }),
    ...(paidAt !== null && { paidAt }),
    ...(signedReceipt !== undefined && { receipt: signedReceipt }),
  }
}

export function paymentOf(core: Core, order: Order): SvcPayment {
  const item = order.kind === 'plan' ? { planId: order.itemId } : { routeId: order.itemId }
  return {
    txHash: order.txHash,
    explorerUrl: order.txHash && `${core.rails.explorerTxUrl(order.network)}${order.txHash}`,
    payer: order.payer,
    amount: order.amount,
    network: order.network,
    ...item,
    resourceId: order.resourceId,
    challengeId: order.challengeId,
    requestId: order.requestId,
  }
}
