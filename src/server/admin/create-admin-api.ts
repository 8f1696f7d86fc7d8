import type { Backstage } from '../../backstage.ts'
import { GatewayError, UnavailableError } from '../../errors.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { CHALLENGE_STATES } from '../../protocol/access.ts'
import { readTime } from '../../protocol/read-time.ts'
import { apiReply, readJsonObject } from '../api-reply.ts'
import { PAGE_HEADERS } from '../pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { challengePage } from './challenge-page.ts'
import { copyStore } from './copy-store.ts'
import { creditsPage, lotsPage } from './credits-pages.ts'
import { exportCredits } from './export-credits.ts'
import { exportSales } from './export-sales.ts'
import { knownNetworks } from './known-networks.ts'
import { overview } from './overview.ts'
import { readLedger } from './read-ledger.ts'
import { refundsPage } from './refunds-page.ts'
import { createReturnedMoney } from './returned-money.ts'
import { showSale } from './sale.ts'
import { RANGES } from './sale-figures.ts'
import { type ShownClosed, showClosed } from './show-closed.ts'
import { streamChanges } from './stream-changes.ts'
import { webhookAction, webhookPage } from './webhook-pages.ts'

/** Undefined: not its path. */
export type AdminApi = (request: Request, path: string) => Promise<Response | undefined>

const ROOT = '/admin/api'
const MAX_LIMIT = 500
const BODY_LIMITS = { maxBodyBytes: 4096, requestTimeoutMs: 10_000 }

/** The operator's API. Called for requests that are logged in; `path` is below the gateway's base path. */
export function createAdminApi(parts: AdminParts): AdminApi {
  const { gateway, book, alerts, onError } = parts
  const { backstage } = gateway
  const returned = createReturnedMoney(backstage, book.credits)
  const closing = parts.closing ?? new AbortController().signal

  async function list(query: URLSearchParams): Promise<Response> {
    const state = query.get('state') || undefined
    const kind = query.get('kind') || undefined
    const network = query.get('network') || undefined
    const before = query.get('before') || undefined
    const limit = Number(query.get('limit') || 50)
    if (state !== undefined && !CHALLENGE_STATES.some((known) => known === state)) {
      return bad(`state can be ${CHALLENGE_STATES.join(', ')}.`)
    }
    if (kind !== undefined && kind !== 'plan' && kind !== 'route') return bad('kind can be plan or route.')
    if (network !== undefined && !/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/.test(network))
      return bad('network is a CAIP-2 id such as eip155:8453.')
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
      return bad(`limit can be 1 to ${MAX_LIMIT}.`)
    if (before !== undefined && !/^\d{1,15}$/.test(before)) return bad('before is not a cursor of this list.')
    const q = query.get('q') || undefined
    await book.refresh()
    const cursor = before === undefined ? undefined : Number(before)
    const { found, next, total } = await book.find({ q, state, kind, network, before: cursor, limit })
    const items = found.map((sale) => showSale(sale, sale.row))
    const isExact = items.length === 0 && q !== undefined && cursor === undefined
    const old = isExact ? await oldSale(q.trim()) : undefined
    if (old) return apiReply(200, { items: [old], next: null, total: 1 })
    return apiReply(200, { items, next: next?.toString() ?? null, total })
  }

  /** A sale that is not among the newest is found at once by its exact id. */
  async function oldSale(id: string) {
    const { store } = backstage
    const [[pointer], [direct]] = await Promise.all([
      store.get('requests', [id]),
      store.get('challenges', [id]),
    ])
    const row = direct ?? (pointer && (await store.get('challenges', [pointer.challengeId]))[0])
    return row && showSale({ challengeId: row.key, requestId: row.requestId, state: row.state }, row)
  }

  async function closeCredits(id: string): Promise<ShownClosed> {
    const closed = await gateway.closeCredits(id)
    return showClosed(closed, await knownNetworks(backstage.store, backstage.networks))
  }

  async function act(request: Request, id: string, action: string): Promise<Response | undefined> {
    switch (action) {
      case 'cancel':
        return decided(gateway.cancel(id, 'operator'))
      case 'retry-refund':
        return decided(gateway.retryRefund(id))
      case 'close-credits':
        return decided(closeCredits(id))
      case 'resolve-refund': {
        const body = await readJsonObject(request, BODY_LIMITS)
        if (body instanceof Response) return body
        if (typeof body.txHash !== 'string')
          return bad('txHash is missing: name the transaction that paid it.')
        return decided(gateway.proveRefund(id, body.txHash))
      }
    }
    return undefined
  }

  async function get(path: string, query: URLSearchParams): Promise<Response | undefined> {
    switch (path) {
      case '/overview': {
        const range = RANGES.find((known) => known === (query.get('range') || '24h'))
        if (!range) return bad(`range can be ${RANGES.join(', ')}.`)
        return apiReply(200, await overview(parts, range, returned))
      }
      case '/challenges':
        return list(query)
      case '/refunds':
        return refundsPage(parts)
      case '/credits':
        return creditsPage(book)
      case '/credits/lots':
        return lotsPage(book, query)
      case '/export':
        return download(query)
      case '/ledger':
        return ledger()
      case '/backup':
        return copyStore(backstage.store, onError && { onError })
      case '/events':
        return streamChanges(book, closing, parts.streamLifeMs)
    }
    if (path.startsWith('/webhooks')) return webhookPage(backstage, path, query)
    const one = /^\/challenges\/([^/]+)$/.exec(path)?.[1]
    if (one === undefined) return undefined
    const page = await challengePage(backstage, one)
    return page
      ? apiReply(200, page)
      : apiReply(404, { error: `No challenge ${one.slice(0, 80)} is stored.` })
  }

  function download(query: URLSearchParams): Response {
    const format = query.get('format') || 'csv'
    if (format !== 'csv' && format !== 'jsonl') return bad('format can be csv or jsonl.')
    const of = query.get('of') || 'sales'
    if (of !== 'sales' && of !== 'credits') return bad('of can be sales or credits.')
    const times: { from?: number; to?: number } = {}
    for (const name of ['from', 'to'] as const) {
      const text = query.get(name)
      if (!text) continue
      const time = readTime(text)
      if (time === undefined)
        return bad(
          `${name} is ${JSON.stringify(text.slice(0, 40))}; it can be a day (UTC) such as 2030-01-31, or a time with its zone such as 2030-01-31T00:00:00Z.`,
        )
      times[name] = time
    }
    if (times.from !== undefined && times.to !== undefined && times.to <= times.from)
      return bad('to is not after from; an export ends before to.')
    const day = new Date().toISOString().slice(0, 10)
    const what = of === 'credits' ? 'credits-' : ''
    const name = `paystile-${what}${placeOf(backstage.networks)}-${day}.${format}`
    const exported = of === 'credits' ? exportCredits : exportSales
    return streamed(exported(backstage.store, format, times, backstage.networks), {
      'content-type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl',
      'content-disposition': `attachment; filename="${name}"`,
    })
  }

  /** For `paystile reconcile`: the whole ledger, one JSON line per challenge. */
  function ledger(): Response {
    async function* lines(): AsyncGenerator<string> {
      for await (const entry of readLedger(backstage.store)) yield `${JSON.stringify(entry)}\n`
    }
    return streamed(lines(), { 'content-type': 'application/jsonl' })
  }

  async function answer(request: Request, path: string): Promise<Response | undefined> {
    if (request.method === 'GET') return get(path, new URL(request.url).searchParams)
    if (request.method !== 'POST') return undefined
    if (path === '/alerts/clear') {
      alerts.clear()
      return apiReply(200, { alerts: [] })
    }
    if (path.startsWith('/webhooks/')) return webhookAction(backstage, request, path)
    const [, id, action] = /^\/challenges\/([^/]+)\/([a-z-]+)$/.exec(path) ?? []
    return id !== undefined && action !== undefined ? act(request, id, action) : undefined
  }

  return async (request, path) => {
    if (!path.startsWith(`${ROOT}/`)) return undefined
    try {
      return await answer(request, path.slice(ROOT.length))
    } catch (error) {
      if (error instanceof UnavailableError) {
        return apiReply(503, { error: `${error.message}; nothing was decided. Try again.` })
      }
      onError?.(error)
      return apiReply(500, { error: 'The server met an unexpected fault; its log says more.' })
    }
  }
}

/** Where the money is, in the name of a file: whoever reads it must see that it is test money. */
function placeOf([first, second]: Backstage['networks']): string {
  if (second) return first!.testnet ? 'test-networks' : 'networks'
  return first!.aliases[0] ?? first!.word
}

const bad = (error: string): Response => apiReply(400, { error })

async function decided(status: Promise<ChallengeStatus | ShownClosed>): Promise<Response> {
  try {
    return apiReply(200, await status)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return apiReply(error.code === 'CHALLENGE_NOT_FOUND' ? 404 : 409, { error: error.message })
  }
}

function streamed(lines: AsyncGenerator<string>, headers: Record<string, string>): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await lines.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: async () => void (await lines.return(undefined)),
  })
  return new Response(body, { headers: { ...PAGE_HEADERS, ...headers } })
}
