import type { AlertView, ChallengeItem, CreditsView, Range, SetupInput } from '../shared/wire.ts'
import { overviewOf } from './fixture-overview.ts'
import { createSales } from './fixture-sales.ts'
import { checkOf, stateOf } from './fixture-setup.ts'

export const FIXTURE_TOKEN = 'fixture-token-of-the-operator'

const NONE = { lots: 0, sold: 0, spent: 0, reserved: 0, outstanding: 0, expired: 0, closed: 0, lost: 0 }
const NO_CREDITS: CreditsView = {
  asOf: new Date(0).toISOString(),
  totals: { ...NONE, spentUnpaid: 0 },
  perPlan: [],
  perWallet: [],
  wallets: 0,
}
const CSRF = 'fixture-csrf'

export interface FixtureOptions {
  configured?: boolean
  /** No sales at all. */
  empty?: boolean
  /** A sale every few seconds. */
  liveSales?: boolean
  /** Sold on three networks, one of them withdrawn. */
  several?: boolean
  locked?: Record<string, string>
}

/** Answers the API of both pages with made-up sales, for developing the pages and for showing rare states. */
export function createFixture(options: FixtureOptions = {}): {
  fetch(request: Request): Promise<Response | undefined>
  /** Adds a sale now, and notifies listeners. */
  sell(): ChallengeItem
} {
  const sales = createSales(Date.now(), options.empty ? 0 : 640, options.several)
  const listeners = new Set<ReadableStreamDefaultController<Uint8Array>>()
  let saved: SetupInput | undefined = options.configured
    ? { values: exampleValues(), secrets: { TOKEN_SECRET: 'x' } }
    : undefined
  let alerts: AlertView[] = options.empty
    ? []
    : [
        {
          kind: 'REFUND_FAILED',
          message: 'A refund of $0.01 failed 5 times: the wallet that signs refunds holds no USDC.',
          at: new Date(Date.now() - 1_500_000).toISOString(),
          count: 1,
        },
      ]

  const sell = (): ChallengeItem => {
    const sale = sales.sell(Date.now())
    const event = new TextEncoder().encode(`event: change\ndata: {"challengeId":"${sale.challengeId}"}\n\n`)
    for (const listener of listeners) listener.enqueue(event)
    return sale
  }
  if (options.liveSales) setInterval(sell, 5000).unref()

  const answer = async (request: Request, path: string, query: URLSearchParams): Promise<Response> => {
    const loggedIn = request.headers.get('cookie')?.includes('svc_admin=fixture') === true
    const body = request.method === 'POST' ? ((await request.json()) as Record<string, unknown>) : {}
    if (path === '/admin/api/login') {
      if (body.token !== FIXTURE_TOKEN) return json(401, { error: 'this is not the token' })
      return json(
        200,
        { csrf: CSRF },
        { 'set-cookie': 'svc_admin=fixture; HttpOnly; SameSite=Strict; Path=/' },
      )
    }
    if (path === '/admin/api/session') {
      const configured = saved !== undefined
      return json(200, {
        loggedIn,
        configured,
        version: '0.1.0',
        ...(loggedIn && {
          csrf: CSRF,
          ...(configured && { network: 'eip155:84532', agentName: 'Weather API' }),
        }),
      })
    }
    if (!loggedIn) return json(401, { error: 'log in first' })
    if (request.method === 'POST' && request.headers.get('x-csrf-token') !== CSRF) {
      return json(403, { error: 'the CSRF token is missing' })
    }
    if (path === '/admin/api/logout') return json(200, {}, { 'set-cookie': 'svc_admin=; Max-Age=0; Path=/' })
    if (path === '/setup/api/state') return json(200, stateOf(saved, options.locked ?? {}))
    if (path === '/setup/api/check') return json(200, checkOf(body as unknown as SetupInput, saved))
    if (path === '/setup/api/save') {
      const checked = checkOf(body as unknown as SetupInput, saved)
      if (checked.faults.length + checked.missing.length > 0) return json(422, checked)
      const { values, secrets } = body as unknown as SetupInput
      saved = { values, secrets: { ...saved?.secrets, ...secrets } }
      return json(200, { saved: true, live: true, url: new URL(request.url).origin })
    }
    if (path === '/admin/api/overview') {
      const range = (query.get('range') ?? '7d') as Range
      return json(200, overviewOf(sales.items, alerts, range, Date.now(), options.several))
    }
    if (path === '/admin/api/alerts/clear') {
      alerts = []
      return json(200, {})
    }
    if (path === '/admin/api/events') return events()
    if (path === '/admin/api/export')
      return new Response('challengeId,testnet\n', { headers: { 'content-type': 'text/csv' } })
    if (path === '/admin/api/credits') return json(200, NO_CREDITS)
    if (path === '/admin/api/webhooks') return json(200, { endpoints: [], parked: 0 })
    if (path === '/admin/api/refunds')
      return json(200, { items: sales.items.filter(isWaiting).map(asWaiting) })
    if (path === '/admin/api/challenges') return json(200, pageOf(sales.items, query))
    const [, id, verb] = /^\/admin\/api\/challenges\/([^/]+)(?:\/([a-z-]+))?$/.exec(path) ?? []
    const item = sales.items.find(({ challengeId }) => challengeId === decodeURIComponent(id ?? ''))
    if (!item) return json(404, { error: 'there is no such challenge' })
    if (verb === undefined) return json(200, sales.detail(item))
    if (verb === 'cancel' && item.state !== 'PENDING')
      return json(409, { error: 'only an unpaid offer can be cancelled' })
    item.state = verb === 'cancel' ? 'CANCELLED' : verb === 'retry-refund' ? 'REFUND_PENDING' : 'REFUNDED'
    return json(200, { challengeId: item.challengeId, state: item.state })
  }

  function events(): Response {
    let own: ReadableStreamDefaultController<Uint8Array>
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller
        listeners.add(controller)
        controller.enqueue(new TextEncoder().encode('event: ping\ndata: {}\n\n'))
      },
      cancel() {
        listeners.delete(own)
      },
    })
    return new Response(stream, {
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    })
  }

  return {
    sell,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      return /^\/(setup|admin)\/api\//.test(pathname)
        ? await answer(request, pathname, searchParams)
        : undefined
    },
  }
}

const isWaiting = ({ state }: ChallengeItem): boolean =>
  state === 'REFUND_PENDING' || state === 'REFUND_FAILED'

const asWaiting = (item: ChallengeItem): object => ({
  ...item,
  reason: 'the backend answered 503 Service Unavailable',
  attempts: item.state === 'REFUND_FAILED' ? 5 : 0,
  since: item.paidAt,
  failed: item.state === 'REFUND_FAILED',
})

function pageOf(items: ChallengeItem[], query: URLSearchParams): object {
  const q = (query.get('q') ?? '').toLowerCase()
  const [state, kind, network] = ['state', 'kind', 'network'].map((name) => query.get(name) ?? '')
  const found = items.filter(
    (item) =>
      (state === '' || item.state === state) &&
      (kind === '' || item.kind === kind) &&
      (network === '' || item.network === network) &&
      JSON.stringify(Object.values(item)).toLowerCase().includes(q),
  )
  const start = Number(query.get('before') ?? 0)
  const end = start + Number(query.get('limit') ?? 50)
  return {
    items: found.slice(start, end),
    next: end < found.length ? String(end) : null,
    total: found.length,
  }
}

function exampleValues(): SetupInput['values'] {
  return {
    AGENT_NAME: 'Weather API',
    AGENT_DESCRIPTION: 'Hourly forecasts for every place on earth, as JSON.',
    SVC_WALLET_ADDRESS: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    PLANS: [{ planId: 'hourly', unitAmount: '$0.25', description: 'An hour of everything' }],
  }
}

function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store', ...headers } })
}
