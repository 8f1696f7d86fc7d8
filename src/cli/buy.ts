import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { CHARGED, GOES_BACK, receiptOf } from '../buyer/answers.ts'
import { orderKey } from '../buyer/buy-plan.ts'
import {
  type Buyer,
  BuyerError,
  type BuyerStep,
  createBuyer,
  fileStorage,
  type StoredPayment,
} from '../buyer/index.ts'
import { callKey } from '../buyer/paying-fetch.ts'
import { nameOrder, orderName, unfinishedOrders } from '../buyer/unfinished-orders.ts'
import { ConfigError } from '../errors.ts'
import { microToDollars, priceFault } from '../protocol/amount.ts'
import { findNetwork, NETWORKS } from '../protocol/networks.ts'
import { printableLine } from '../protocol/printable.ts'
import { bodyInJson, handOver, openOutput } from './hand-over.ts'
import { baseOf, describeShop, listShop, readCatalog, unreachable } from './list-shop.ts'
import { type Answered, orderEnd, priceOf } from './order-end.ts'
import { paymentsFolder } from './payments-folder.ts'
import { readKey } from './read-key.ts'
import { type Report, type Terminal, write } from './terminal.ts'

export interface BuyFlags {
  plan?: string | undefined
  method?: string | undefined
  data?: string | undefined
  'max-amount'?: string | undefined
  'key-file'?: string | undefined
  payments?: string | undefined
  /** Metered calls: the token may be approved for Permit2. */
  approve?: boolean | undefined
  'rpc-url'?: string | undefined
  output?: string | undefined
  json?: boolean | undefined
}

/** Buys one call or one plan at any x402 address, and hands over the answer. The same command again continues what was not decided. */
export async function buy(terminal: Terminal, url: string, flags: BuyFlags): Promise<Report> {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new ConfigError([`${url} is no address; expected one such as https://api.example.com/weather/oslo`])
  const unfilled = new URL(url).pathname.split('/').find((segment) => /^:[A-Za-z]\w*$/.test(segment))
  if (unfilled !== undefined)
    throw new ConfigError([
      `${unfilled} in ${url} stands for a value: put one of yours in its place. Nothing was paid.`,
    ])
  if (flags.plan !== undefined && (flags.data !== undefined || flags.method !== undefined))
    throw new ConfigError(['--plan buys a plan, and takes neither --method nor --data.'])
  const told: Told = {}
  const say = (step: BuyerStep) => {
    if (step.step === 'challenge') {
      const known = findNetwork(step.offer.network.id)
      Object.assign(told, { place: known?.name ?? step.offer.network.id, faucet: known?.faucets?.token })
    }
    const line = lineOf(step, told.place)
    if (line !== undefined && flags.json !== true) terminal.errors.write(`${printableLine(line)}\n`)
  }
  const isShop = flags.plan === undefined && new URL(url).pathname === '/'
  if (isShop) return listShop(url)
  // A gateway may be below a path, and nobody who only looks says what it may cost.
  const looks = [flags.plan, flags['max-amount'], flags.method, flags.data].every(
    (flag) => flag === undefined,
  )
  const catalog = looks ? await readCatalog(url) : undefined
  if (catalog) return describeShop(url, catalog)
  const { account, maxAmount } = readLimits(terminal, flags)
  const rpcUrls = rpcUrlsOf(flags['rpc-url'])
  const folder = paymentsFolder(flags.payments)
  const storage = fileStorage(folder)
  const buyer = createBuyer({
    ...{ account, maxAmount, storage, rpcUrls, onStep: say },
    approvePermit2: flags.approve === true,
  })
  const words = [account.address, url, flags.plan, flags.method, flags.data]
  const isNew = () => unfinishedOrders(folder).every(({ name }) => name !== orderName(words))
  // Fails at once if no server is there. Only a payment that was signed before is worth waiting for one.
  if (flags.plan !== undefined && isNew()) await readCatalog(url)
  const order = nameOrder(folder, words)
  const request = requestOf(url, order.id, flags)
  const key =
    flags.plan === undefined
      ? callKey(request, account.address, order.id)
      : orderKey({ baseUrl: baseOf(url), requestId: order.id }, account.address)
  const path = flags.plan === undefined ? flags.output : undefined
  const file = path === undefined ? undefined : openOutput(path)
  try {
    const report =
      flags.plan === undefined
        ? await call(buyer, request, () => storage.get(key))
        : await plan(buyer, url, order.id, flags.plan)
    const end = report.continues ? { isOpen: true } : await orderEnd(await storage.get(key), report, rpcUrls)
    // Before the answer, which need not end with its line.
    for (const note of flags.json === true ? [] : [...(report.notes ?? []), ...wordsOf(end)])
      await write(terminal.errors, `${printableLine(note)}\n`)
    const place = {
      terminal,
      path,
      file,
      spare: join(folder, `${order.id}.answer`),
      json: flags.json === true,
    }
    if (report.body) await handOver(report.body, place)
    return end.isOpen ? report : { ...report, written: order.finished }
  } catch (cause) {
    const payment = await storage.get(key)
    if (!payment && isAway(cause)) throw unreachable(url, cause)
    if (!(cause instanceof BuyerError)) throw cause
    const { code, gateway } = cause
    const isGateways = code === 'REFUSED' && gateway?.code !== undefined
    const end = await orderEnd(payment, { isDecided: code === 'REFUNDED', isGateways }, rpcUrls)
    // A call that is pending without a payment may have been debited under the id of this order.
    if (!end.isOpen && code !== 'STILL_PENDING') order.finished()
    // The words of the SDK name an option of its own; that of the command is in the hint.
    const message = cause.message.replace(', or set approvePermit2', '')
    const hints = hintsOf(cause, payment, account.address, flags.approve, told)
    throw new ConfigError([message, ...(hints ?? wordsOf(end))])
  } finally {
    file?.close()
  }
}

/** Nobody answered: fetch says so by a TypeError with a cause, and the buyer where it took too long. */
const isAway = (cause: unknown): boolean =>
  cause instanceof Error &&
  (cause.name === 'TimeoutError' || (cause instanceof TypeError && cause.cause instanceof Error))

const wordsOf = ({ words }: { words?: string }): string[] => (words === undefined ? [] : [words])

/** Where the purchase is paid. */
interface Told {
  place?: string
  faucet?: string
}

/** Undefined: there is none for this fault. */
function hintsOf(
  { code }: BuyerError,
  payment: StoredPayment | undefined,
  payer: string,
  approve: boolean | undefined,
  { place, faucet }: Told,
): string[] | undefined {
  if (code === 'OVER_LIMIT' && payment) {
    const price = priceOf(payment)
    return [
      `That payment of ${price} was signed before and may still be charged: run the same command with --max-amount '${price}', which sends it again and signs no other.`,
    ]
  }
  if (code === 'OVER_LIMIT') return ['Nothing was paid. Allow more by --max-amount.']
  if (code === 'ALLOWANCE_REQUIRED' && approve) return []
  if (code === 'ALLOWANCE_REQUIRED')
    return [`Run the same command with --approve to do that from here; ${payer} needs coins for gas once.`]
  if (code === 'STILL_PENDING') return ['Run the same command again: it asks on, and does not pay twice.']
  if (code === 'ALREADY_USED') return []
  if (code !== 'PAYMENT_FAILED' && code !== 'INSUFFICIENT_FUNDS') return undefined
  if (place === undefined) return []
  const where = faucet === undefined ? '' : `; test USDC is free at ${faucet}`
  return [`Does ${payer} hold USDC on ${place}? It needs no coins for gas${where}.`]
}

function readLimits(terminal: Terminal, flags: BuyFlags) {
  const faults: string[] = []
  const maxAmount = flags['max-amount']
  const wrong = maxAmount === undefined ? undefined : priceFault(maxAmount)
  if (wrong !== undefined) faults.push(`--max-amount ${maxAmount} ${wrong}`)
  if (maxAmount === undefined) faults.push("Say the most that it may cost, for example --max-amount '$0.05'.")
  const key = readKey(terminal.env, flags['key-file'], faults)
  if (faults.length > 0) throw new ConfigError(faults)
  return { account: privateKeyToAccount(key!), maxAmount: maxAmount! }
}

/** One node, for whichever network is paid on: a node of another one is found out by its chain id. */
function rpcUrlsOf(url: string | undefined): Record<string, string> {
  if (url === undefined) return {}
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new ConfigError([`--rpc-url ${url} is no address; expected one such as https://mainnet.base.org`])
  return Object.fromEntries(NETWORKS.map(({ id }) => [id, url]))
}

interface Bought extends Report, Answered {
  body?: Uint8Array
  /** The call failed and cost nothing: the same command makes it again with the same payment. */
  continues?: boolean
  /** For people, beside the answer. */
  notes?: string[]
}

function requestOf(url: string, id: string, { method, data }: BuyFlags): Request {
  return new Request(url, {
    method: method?.toUpperCase() ?? (data === undefined ? 'GET' : 'POST'),
    headers: {
      'idempotency-key': id,
      ...(data !== undefined && { 'content-type': isJson(data) ? 'application/json' : 'text/plain' }),
    },
    ...(data !== undefined && { body: data }),
  })
}

async function call(
  buyer: Buyer,
  request: Request,
  payment: () => Promise<StoredPayment | undefined>,
): Promise<Bought> {
  const answer = await buyer.fetch(request)
  const body = await bodyOf(answer, payment)
  const { status } = answer
  const code = answer.headers.get('x-svc-code')
  const undelivered = code === 'DELIVERY_FAILED'
  const receipt = receiptOf(answer)
  const txHash = receipt?.transaction ?? null
  const charge = buyer.chargeOf(answer)
  const uncharged = charge !== undefined && receipt?.success === false
  const ok = answer.ok && !undelivered && !uncharged
  return {
    lines: [],
    body,
    json: {
      ok,
      status,
      txHash,
      ...(charge && { maximum: charge.maximum, charged: charge.charged }),
      contentType: answer.headers.get('content-type'),
      ...bodyInJson(body),
    },
    failed: !ok,
    continues: uncharged,
    isDecided: answer.ok || receipt?.success === true || GOES_BACK.has(code ?? ''),
    isGateways: code !== null,
    notes: [
      ...(txHash ? [`paid in transaction ${txHash}`] : []),
      ...(uncharged ? ['The call failed, and nothing was charged. The same command makes it again.'] : []),
      ...(undelivered && !uncharged
        ? ['It was not delivered: the money goes back automatically, or as the seller says.']
        : []),
    ],
  }
}

/** The whole answer. One that breaks off may have been paid for, and the order stays open. */
async function bodyOf(
  answer: Response,
  payment: () => Promise<StoredPayment | undefined>,
): Promise<Uint8Array> {
  try {
    return new Uint8Array(await answer.arrayBuffer())
  } catch (cause) {
    const isPaid = answer.headers.has(CHARGED) || (await payment()) !== undefined
    if (cause instanceof BuyerError || !isPaid) throw cause
    const what = receiptOf(answer)?.success ? 'The call was paid for.' : 'The call may have been paid for.'
    throw new ConfigError([
      `${what} Its answer broke off. Run the same command again: it does not pay twice.`,
    ])
  }
}

async function plan(buyer: Buyer, url: string, requestId: string, planId: string): Promise<Bought> {
  const { grant, cached } = await buyer.buy(url, { planId, requestId })
  const json = { ok: true, cached, ...grant }
  return { lines: [grant.accessToken], json, isDecided: true, isGateways: true }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function lineOf(step: BuyerStep, place: string | undefined): string | undefined {
  switch (step.step) {
    case 'challenge':
      return `402: it costs ${step.offer.scheme === 'upto' ? 'up to ' : ''}${microToDollars(step.offer.amountMicro)} on ${place}`
    case 'send':
      return step.resumed ? 'sending the payment that was signed before' : 'signed and sent'
    case 'pending':
      return `${step.reason}; asking again in ${step.retryInSeconds} s`
    case 'approve':
      return `approving ${microToDollars(step.amountMicro)} for Permit2 on ${place ?? findNetwork(step.network)?.name ?? step.network}, once`
    case 'charged':
      return `charged ${microToDollars(step.chargedMicro)} of at most ${microToDollars(step.maximumMicro)}`
    case 'granted':
      return `paid in transaction ${step.txHash}`
    case 'debited':
      return `${step.charged} of the plan ${step.planId}'s credits; ${step.remaining} are left`
    default:
      return undefined
  }
}
