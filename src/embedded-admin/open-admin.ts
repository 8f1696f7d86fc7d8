import { createAdminApi } from '../server/admin/create-admin-api.ts'
import { createOperatorMcp } from '../server/admin/operator-mcp.ts'
import { createSalesBook } from '../server/admin/sales-book.ts'
import { createWalletWatch } from '../server/admin/wallet-watch.ts'
import { createAdminToken } from '../server/auth/admin-token.ts'
import { createAuth } from '../server/auth/create-auth.ts'
import { createSessions } from '../server/auth/sessions.ts'
import { createAlertBook } from '../server/observe/alert-book.ts'
import { createRedactor } from '../server/observe/create-redactor.ts'
import { createOperatorHandler } from '../server/operator-handler.ts'
import { createPages } from '../server/pages.ts'
import { requestPath, requestTarget } from '../transports/http/request-target.ts'
import { VERSION } from '../version.ts'
import type { AdminGateway, AdminOptions, EmbeddedAdmin } from './admin-options.ts'

/** The seller's server waits for streams when it closes, and nobody tells them of it. */
const STREAM_LIFE_MS = 10_000

/**
 * The same pages, API, login and limits as those of the standalone server, but at the address of the seller's choice. There
 * is no setup: an embedded gateway is configured by its options.
 */
export function openAdmin(gateway: AdminGateway, options: AdminOptions): EmbeddedAdmin {
  const { backstage } = gateway
  const token = options.token!
  const redactor = createRedactor()
  redactor.conceal([token])
  // The gateway has already told of them, on standard error and by its own webhooks.
  const alerts = createAlertBook({ now: Date.now, clean: redactor.clean, count() {}, tell() {} })
  backstage.watchAlerts(alerts.raise)
  const api = createAdminApi({
    gateway,
    book: createSalesBook(backstage.store),
    alerts,
    wallets: createWalletWatch(backstage),
    streamLifeMs: STREAM_LIFE_MS,
    onError: (error) => alerts.raise('request-failed', error instanceof Error ? error.message : 'unknown'),
  })
  const { agentName } = gateway.discovery
  const mcp = createOperatorMcp({ api, agentName, writes: options.mcpWrites === true })
  const mounts = new WeakMap<Request, string>()
  const operator = createOperatorHandler({
    basePath: () => '',
    phase: () => 'live',
    auth: createAuth({
      token: createAdminToken(
        () => token,
        () => {},
      ),
      sessions: createSessions(),
      tokenName: 'the token that paystileAdmin was given',
      pageLocation: (request) => ({
        cookiePaths: [mounts.get(request) || '/'],
        hosts: [],
        // Only a browser needs the cookie, and it always says where its page is from.
        secure: request.headers.get('origin')?.startsWith('https:') === true,
      }),
      describe: () => ({ configured: true, version: VERSION }),
      describeForOperator: () => ({ agentName, network: gateway.discovery.network }),
    }),
    setupApi: async () => undefined,
    adminApi: () => async (request, path) => (await mcp(request, path)) ?? api(request, path),
    pages: createPages(undefined, true),
  })

  return async (request, mount, peer) => {
    const sent = requestTarget(request).split('?')[0]!
    // A path that parsing has changed (such as /x/../office) is never one of our pages: a proxy in front that protects them
    // has compared the path as it was sent.
    if (sent !== requestPath(request) || !sent.startsWith(mount)) return undefined
    const below = sent.slice(mount.length)
    if (below === '') return toFolder(request, mount)
    if (!/^\/($|api\/|assets\/|mcp$)/.test(below)) return undefined
    mounts.set(request, mount)
    return operator(request, below === '/' ? '/admin' : `/admin${below}`, peer)
  }
}

/** Relative, and without a slash in front, so that it cannot lead to another host. */
function toFolder(request: Request, mount: string): Response {
  const location = `./${mount.split('/').at(-1)}/${new URL(request.url).search}`
  return new Response(null, { status: 308, headers: { location, 'cache-control': 'no-store' } })
}
