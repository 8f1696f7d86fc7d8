import type { CallToolResult } from '@modelcontextprotocol/server'
import {
  type BuyerAccount,
  type BuyerClock,
  BuyerError,
  createBuyer,
  type Offer,
  type PaymentStorage,
  type StoredPayment,
} from '../buyer/index.ts'
import { ownedCredits } from '../buyer/owned-credits.ts'
import { reservationOf } from '../buyer/reservations.ts'
import { microToDollars } from '../protocol/amount.ts'
import { findNetwork } from '../protocol/networks.ts'
import { afterFailure, statusOf } from './after-failure.ts'
import { type Fulfilled, fulfil } from './fulfil.ts'
import type { Ledger } from './ledger.ts'
import type { McpConnections } from './mcp-connections.ts'
import type { OrderBook } from './order-book.ts'
import { describePurchase, hostOf, type Purchase } from './purchase.ts'
import { releaseExpired } from './release-expired.ts'
import { failure, withRemark } from './results.ts'
import { isWithin, type Terms } from './terms.ts'
import { toolFetch } from './tool-exchange.ts'

export interface PurchaseParts {
  account: BuyerAccount
  maxAmount: string
  maxTotalMicro: bigint
  maxTotal: string
  allowedHosts: readonly string[]
  payments: PaymentStorage
  ledger: Ledger
  book: OrderBook
  connections: McpConnections
  /** The longest answer that is taken. */
  maxBytes: number
  say(line: string): void
  /** By CAIP-2 id; default: the networks' public ones. */
  rpcUrls?: Readonly<Record<string, string>>
  /** For tests. */
  clock?: BuyerClock
  /** How long one call may take, with the whole of its answer. Default: four minutes. */
  deadlineMs?: number
}

export type Made =
  | {
      kind: 'answered'
      result: CallToolResult /** To be called once the answer has reached whoever asked. */
      handedOver(): void
    }
  /** Its terms are not agreed to; nothing was signed. */
  | { kind: 'unconfirmed'; offer: Offer }

/** What may be paid: what a person agreed to, nothing, or (undefined) whatever the limits allow. */
export type Agreed = Terms | 'nothing' | undefined

export interface Purchases {
  make(purchase: Purchase, agreed: Agreed): Promise<Made>
  /** Finishes what an earlier process began, with the payments that it signed. */
  finishEarlier(): Promise<void>
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
}

const MAX_WAIT_MS = 240_000
/** Much shorter than an order stays locked. */
const DEADLINE_MS = 240_000

class NotAgreed extends Error {
  readonly offer: Offer
  constructor(offer: Offer) {
    super('the terms are not agreed to')
    this.offer = offer
  }
}

/**
 * Buys what tool calls ask for. An order is on disk before anything is signed, the payment before it is sent, the answer
 * before the order is closed: whoever starts again finds one of them, and signs nothing anew.
 */
export function createPurchases(parts: PurchaseParts): Purchases {
  const { book, payments, ledger, say, rpcUrls = {}, clock, deadlineMs = DEADLINE_MS } = parts
  const now = () => clock?.now() ?? Date.now()
  const askStatus = (payment: StoredPayment) => statusOf(payment, rpcUrls, now())
  const credits = payments.credits && ownedCredits(payments.credits, parts.account.address)
  const running = new Map<string, Promise<Made>>()
  let earlier: Promise<unknown> | undefined

  /** The same call at the same time is one purchase: a client may have asked again because it waited too long. */
  function once(name: string, work: () => Promise<Made>): Promise<Made> {
    const made = running.get(name) ?? work().finally(() => running.delete(name))
    running.set(name, made)
    return made
  }

  async function make(purchase: Purchase, agreed: Agreed): Promise<Made> {
    const name = book.nameOf(purchase)
    const unlock = await book.lock(name, MAX_WAIT_MS)
    if (!unlock)
      return plain(failure('Another bridge has been making this very call for minutes. Call again later.'))
    try {
      const kept = book.answer(name)
      if (!kept) return await work(purchase, agreed)
      const remark = `This was bought at ${kept.at} and had not reached you. It cost nothing now; call again for a new one.`
      return {
        kind: 'answered',
        result: withRemark(kept.result, remark),
        handedOver: () => book.dropAnswer(name),
      }
    } finally {
      unlock()
    }
  }

  async function work(purchase: Purchase, agreed: Agreed): Promise<Made> {
    const order = book.open(purchase)
    let outcome: Fulfilled | BuyerError | Error
    try {
      const buyer = buyerFor(purchase, order.id, agreed)
      outcome = await fulfil({ buyer, saveFile: book.saveFile, deadlineMs }, purchase, order.id)
    } catch (error) {
      if (error instanceof NotAgreed) {
        order.finished()
        return { kind: 'unconfirmed', offer: error.offer }
      }
      outcome = error instanceof Error ? error : new Error(String(error))
    }
    const payment = await payments.get(order.id)
    const end = payment ? await endOf(outcome, payment) : await endOfDebit(outcome, purchase)
    const result = await resultOf(outcome, payment, end)
    if (end === 'open') return plain(result)
    if (payment) await record(payment, outcome, end === 'unused' ? 'unused' : 'paid')
    // Only what was paid for is worth keeping.
    if (end === 'paid') book.saveAnswer(purchase, result, new Date().toISOString())
    if (payment) await payments.forget(order.id, payment)
    order.finished()
    const name = book.nameOf(purchase)
    return { kind: 'answered', result, handedOver: () => book.dropAnswer(name) }
  }

  /** What became of the money: it moved, it cannot move any more, or it still can. */
  async function endOf(
    outcome: Fulfilled | Error,
    payment: StoredPayment,
  ): Promise<'paid' | 'unused' | 'open'> {
    if (!(outcome instanceof Error) && outcome.delivered) return 'paid'
    if (outcome instanceof BuyerError && PAID.has(outcome.code)) return 'paid'
    const status = await askStatus(payment)
    if (status.kind === 'unused') return 'unused'
    const refused =
      !(outcome instanceof Error) || (outcome instanceof BuyerError && outcome.code === 'REFUSED')
    // The seller has the money and refuses: asking on changes nothing.
    return status.kind === 'used' && refused ? 'paid' : 'open'
  }

  /** The same without a payment: it was debited, it may have been, or it was for nothing. */
  async function endOfDebit(
    outcome: Fulfilled | Error,
    purchase: Purchase,
  ): Promise<'paid' | 'unused' | 'open'> {
    if (!(outcome instanceof Error)) return outcome.debited ? 'paid' : 'unused'
    // Any other error of the buyer is the gateway's decision, or its own.
    const isDecided = outcome instanceof BuyerError && outcome.code !== 'STILL_PENDING'
    return !isDecided && (await mayBeDebited(purchase)) ? 'open' : 'unused'
  }

  /** Could this call have been made with credits? Where none are owned, nothing of it is worth remembering. */
  async function mayBeDebited(purchase: Purchase): Promise<boolean> {
    if (purchase.kind !== 'call' || !credits) return false
    const accounts = await credits.at(new URL(purchase.url).origin)
    return accounts.some(({ owned }) => owned && (owned.expiresAt ?? Number.POSITIVE_INFINITY) > now())
  }

  async function record(
    payment: StoredPayment,
    outcome: Fulfilled | Error,
    end: 'paid' | 'unused',
  ): Promise<void> {
    const id = reservationOf(payment)
    if (end === 'unused') return ledger.unused(id)
    const transaction = outcome instanceof Error ? undefined : transactionOf(outcome)
    await ledger.paid(id, { network: payment.network, transaction })
  }

  async function resultOf(
    outcome: Fulfilled | Error,
    payment: StoredPayment | undefined,
    end: 'paid' | 'unused' | 'open',
  ): Promise<CallToolResult> {
    const spentMicro = await ledger.spentTodayMicro()
    if (outcome instanceof Error)
      return failure(afterFailure(outcome, { ...parts, payment, end, spentMicro }))
    const { result, remark } = outcome
    const told = withRemark(result, remark)
    if (!payment) return told
    const price = microToDollars(BigInt(payment.amount))
    if (end === 'open')
      return withRemark(
        { ...told, isError: true },
        outcome.uncharged
          ? `The call failed, and nothing was charged. The same call sends the same payment of at most ${price} again, and signs no other.`
          : `A payment of ${price} was sent and may still be charged. The same call sends the same payment again, and signs no other.`,
      )
    if (end === 'unused') return withRemark({ ...told, isError: true }, 'Nothing was charged.')
    const place = findNetwork(payment.network)?.name ?? payment.network
    const transaction = transactionOf(outcome)
    const where = transaction ? `, transaction ${transaction}` : ''
    return withRemark(
      told,
      `Paid ${outcome.charged ?? price} on ${place}${where}. Spent today: ${microToDollars(spentMicro)} of ${parts.maxTotal}.`,
    )
  }

  function buyerFor(purchase: Purchase, id: string, agreed: Agreed) {
    return createBuyer({
      account: parts.account,
      maxAmount: parts.maxAmount,
      maxTotal: parts.maxTotal,
      allowedHosts: parts.allowedHosts,
      maxResponseBytes: parts.maxBytes,
      storage: storageOf(purchase, id),
      rpcUrls,
      ...(clock && { clock }),
      // A tool's server is asked by tool calls alone.
      ...(purchase.kind === 'tool' && {
        credits: 'off' as const,
        fetch: toolFetch(parts.connections, purchase),
      }),
      ...(agreed && { beforeSign: (offer: Offer) => agree(offer, agreed) }),
      onStep(step) {
        if (step.step === 'send' && step.attempt === 1)
          say(
            `${describePurchase(purchase)}: ${step.resumed ? 'the payment that was signed before' : 'a payment'} is sent`,
          )
        if (step.step === 'pending') say(`${describePurchase(purchase)}: ${step.reason}; asked again`)
      },
    })
  }

  async function agree(offer: Offer, agreed: Terms | 'nothing'): Promise<void> {
    if (agreed !== 'nothing' && isWithin(agreed, offer)) return
    // Nobody is asked to agree to what could not be paid.
    if (!(await hasRoom(offer.amountMicro, parts.maxTotalMicro)))
      throw new BuyerError('OVER_TOTAL', `it costs ${microToDollars(offer.amountMicro)}`)
    throw new NotAgreed(offer)
  }

  /** Is this much left of the day's total, after what expired unused was taken out of it? */
  async function hasRoom(amountMicro: bigint, limitMicro: bigint): Promise<boolean> {
    const isLeft = async () => (await ledger.spentTodayMicro()) + amountMicro <= limitMicro
    if (await isLeft()) return true
    await releaseExpired({ book, payments, ledger, statusOf: askStatus })
    return isLeft()
  }

  /** An order has one payment, kept under its id; what it costs is in the ledger of the day. */
  function storageOf(purchase: Purchase, id: string): PaymentStorage {
    return {
      get: () => payments.get(id),
      claim: (_key, payment) => payments.claim(id, payment),
      forget: (_key, payment) => payments.forget(id, payment),
      async reserve(name, amountMicro, limitMicro) {
        const entry = {
          payer: parts.account.address,
          host: hostOf(purchase),
          for: describePurchase(purchase),
        }
        const room = await hasRoom(amountMicro, limitMicro)
        return room && ledger.reserve({ id: name, amountMicro, ...entry }, limitMicro)
      },
      release: (name) => ledger.unused(name),
      charge: (name, amountMicro) => ledger.charged(name, amountMicro),
      uncharged: () => ledger.uncharged(),
      ...(payments.credits && { credits: payments.credits }),
    }
  }

  async function finish({ name, id, purchase }: ReturnType<OrderBook['unfinished']>[number]): Promise<void> {
    const unlock = book.tryLock(name)
    // Another bridge is at it.
    if (!unlock) return
    try {
      const payment = await payments.get(id)
      const isAnswered = book.answer(name) !== undefined
      if (isAnswered || !payment) {
        // Whether it was debited only its seller knows. The same call asks under the same key; nobody else does.
        if (!isAnswered && (await mayBeDebited(purchase))) return
        if (payment) await payments.forget(id, payment)
        return book.open(purchase).finished()
      }
      say(`${describePurchase(purchase)} was begun before; it is finished with the same payment`)
      await work(purchase, 'nothing')
      const found = book.answer(name)
      say(
        found
          ? `${describePurchase(purchase)}: its answer waits for the same call`
          : `${describePurchase(purchase)} is not decided yet; the same call asks again`,
      )
    } finally {
      unlock()
    }
  }

  return {
    make: (purchase, agreed) => once(book.nameOf(purchase), () => make(purchase, agreed)),
    async finishEarlier() {
      const finishing = Promise.allSettled(book.unfinished().map(finish))
      earlier = finishing
      for (const result of await finishing)
        if (result.status === 'rejected') say(`an earlier order could not be finished: ${result.reason}`)
    },
    async settled() {
      await earlier
      while (running.size > 0) await Promise.allSettled(running.values())
    },
  }
}

const PAID = new Set<string>(['ALREADY_USED', 'REFUNDED', 'ANSWER_TOO_LARGE'])

/** The seller's words, at the length of a transaction's hash or not much more. */
const transactionOf = ({ receipt }: Fulfilled): string | undefined => receipt?.transaction?.slice(0, 128)

function plain(result: CallToolResult): Made {
  return { kind: 'answered', result, handedOver: () => {} }
}
