import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { type Description, routeUrl } from '../bridge/gateway-tools.ts'
import { type Buyer, BuyerError, type BuyerStep, createBuyer, fileStorage } from '../buyer/index.ts'
import { nameOrder, orderName, unfinishedOrders } from '../buyer/unfinished-orders.ts'
import { reasonOf } from '../checks/run-checks.ts'
import { ConfigError } from '../errors.ts'
import { microToDollars, priceFault } from '../protocol/amount.ts'
import { decodeJsonObject } from '../protocol/base64.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import { findNetwork, NETWORKS } from '../protocol/networks.ts'
import { printable, printableLine } from '../protocol/printable.ts'
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
  const folder = flags.payments ?? join(homedir(), '.paystile', 'payments')
  const { account, maxAmount } = readLimits(terminal, flags)
  const buyer = createBuyer({
    ...{ account, maxAmount, storage: fileStorage(folder), onStep: say },
    approvePermit2: flags.approve === true,
    rpcUrls: rpcUrlsOf(flags['rpc-url']),
  })
  const words = [account.address, url, flags.plan, flags.method, flags.data]
  const isNew = () => unfinishedOrders(folder).every(({ name }) => name !== orderName(words))
  // Fails at once if no server is there. Only a payment that was signed before is worth waiting for one.
  if (flags.plan !== undefined && isNew()) await readCatalog(url)
  const order = nameOrder(folder, words)
  try {
    const report =
      flags.plan === undefined
        ? await call(buyer, url, order.id, flags)
        : await plan(buyer, url, order.id, flags.plan)
    if (!report.continues) order.finished()
    // Before the answer, which need not end with its line.
    for (const note of flags.json === true ? [] : (report.notes ?? []))
      await write(terminal.errors, `${printableLine(note)}\n`)
    if (report.body !== undefined) await handOver(terminal, report.body, flags)
    return report
  } catch (cause) {
    // Whatever a payment went with is sent again, and ends as a BuyerError.
    if (cause instanceof TypeError && cause.cause instanceof Error) throw unreachable(url, cause)
    if (!(cause instanceof BuyerError)) throw cause
    if (!UNDECIDED.has(cause.code)) order.finished()
    // The words of the SDK name an option of its own; that of the command is in the hint.
    const message = cause.message.replace(', or set approvePermit2', '')
    throw new ConfigError([message, ...hintsOf(cause, account.address, flags.approve, told)])
  }
}

/** Nobody knows yet what became of the payment, or the seller could still take it. */
const UNDECIDED = new Set<string>([
  'STILL_PENDING',
  'PAYMENT_FAILED',
  'UNEXPECTED_ANSWER',
  'ALREADY_USED',
  'ALLOWANCE_REQUIRED',
])

/** Where the purchase is paid. */
interface Told {
  place?: string
  faucet?: string
}

function hintsOf(
  { code }: BuyerError,
  payer: string,
  approve: boolean | undefined,
  { place, faucet }: Told,
): string[] {
  if (code === 'OVER_LIMIT') return ['Nothing was paid. Allow more by --max-amount.']
  if (code === 'ALLOWANCE_REQUIRED' && approve) return []
  if (code === 'ALLOWANCE_REQUIRED')
    return [`Run the same command with --approve to do that from here; ${payer} needs coins for gas once.`]
  if (code === 'STILL_PENDING') return ['Run the same command again: it asks on, and does not pay twice.']
  const mayLackMoney = code === 'PAYMENT_FAILED' || code === 'INSUFFICIENT_FUNDS'
  if (!mayLackMoney || place === undefined) return []
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

interface Bought extends Report {
  body?: Uint8Array
  /** The call failed and cost nothing: the same command makes it again with the same payment. */
  continues?: boolean
  /** For people, beside the answer. */
  notes?: string[]
}

async function call(buyer: Buyer, url: string, id: string, { method, data }: BuyFlags): Promise<Bought> {
  const answer = await buyer.fetch(url, {
    method: method?.toUpperCase() ?? (data === undefined ? 'GET' : 'POST'),
    headers: {
      'idempotency-key': id,
      ...(data !== undefined && { 'content-type': isJson(data) ? 'application/json' : 'text/plain' }),
    },
    ...(data !== undefined && { body: data }),
  })
  const body = new Uint8Array(await answer.arrayBuffer())
  const { status } = answer
  const undelivered = answer.headers.get('x-svc-code') === 'DELIVERY_FAILED'
  const settled = decodeJsonObject(answer.headers.get('payment-response') ?? '')
  const txHash = typeof settled?.transaction === 'string' ? settled.transaction : null
  const charge = buyer.chargeOf(answer)
  const uncharged = charge !== undefined && settled?.success === false
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
      body: new TextDecoder().decode(body),
    },
    failed: !ok,
    continues: uncharged,
    notes: [
      ...(txHash ? [`paid in transaction ${txHash}`] : []),
      ...(uncharged ? ['The call failed, and nothing was charged. The same command makes it again.'] : []),
      ...(undelivered && !uncharged
        ? ['It was not delivered: the money goes back automatically, or as the seller says.']
        : []),
    ],
  }
}

async function plan(buyer: Buyer, url: string, requestId: string, planId: string): Promise<Bought> {
  const { grant, cached } = await buyer.buy(url, { planId, requestId })
  return { lines: [grant.accessToken], json: { ok: true, cached, ...grant } }
}

async function listShop(url: string): Promise<Report> {
  const catalog = await readCatalog(url)
  if (!catalog)
    throw new ConfigError([
      `${baseOf(url)} has no catalog; name the address of a paid call, or of a gateway.`,
    ])
  return describeShop(url, catalog)
}

const baseOf = (url: string): string => url.replace(/\/+$/, '')

/** What a gateway at this address sells; undefined: there is none. */
async function readCatalog(url: string): Promise<DiscoveryCatalog | undefined> {
  const catalog = await readJson<DiscoveryCatalog>(`${baseOf(url)}/discover`).catch((cause: unknown) => {
    throw unreachable(url, cause)
  })
  return Array.isArray(catalog?.plans) && Array.isArray(catalog.routes) ? catalog : undefined
}

const unreachable = (url: string, cause: unknown): ConfigError =>
  new ConfigError([`${new URL(url).host} ${reasonOf(cause)}. Nothing was paid.`])

/** Undefined: there is none, or it is no JSON. */
async function readJson<T>(url: string): Promise<T | undefined> {
  const response = await fetch(url, { signal: AbortSignal.timeout(15_000) })
  return response.ok ? ((await response.json().catch(() => undefined)) as T | undefined) : undefined
}

async function describeShop(url: string, catalog: DiscoveryCatalog): Promise<Report> {
  const base = baseOf(url)
  const description = (await readJson<Description>(`${base}/openapi.json`).catch(() => undefined)) ?? {}
  const lines = [
    ...catalog.plans.map(
      ({ planId, unitAmount }) =>
        `${unitAmount}  npx paystile buy ${base} --plan ${planId} --max-amount '${unitAmount}'`,
    ),
    ...catalog.routes.map(({ method, path, unitAmount, maxAmount }) => {
      const how = method === 'GET' ? '' : ` --method ${method}`
      const most = unitAmount ?? maxAmount
      const address = routeUrl(base, path, description)
      if (most === undefined) return `free  ${method} ${address}`
      const price = unitAmount ?? `up to ${most}`
      return `${price}  npx paystile buy ${address}${how} --max-amount '${most}'`
    }),
  ]
  return {
    lines: lines.length > 0 ? lines : ['Nothing is sold there.'],
    json: { ok: true, plans: catalog.plans, routes: catalog.routes },
  }
}

/** What was paid for is never lost on a terminal that cannot show it. */
async function handOver({ output, errors }: Terminal, body: Uint8Array, flags: BuyFlags): Promise<void> {
  if (flags.output !== undefined) {
    writeFileSync(flags.output, body)
    return write(errors, `${body.length} bytes are in ${printableLine(flags.output)}\n`)
  }
  if (flags.json === true) return
  const text = new TextDecoder().decode(body)
  // A seller's control characters would drive the terminal.
  await write(output, output.isTTY ? printable(text) : text)
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
