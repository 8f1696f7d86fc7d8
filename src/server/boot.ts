import type { Env } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { printable } from '../protocol/printable.ts'
import { basePathOf } from '../transports/http/request-target.ts'
import { VERSION } from '../version.ts'
import { createAdminToken } from './auth/admin-token.ts'
import { createAuth } from './auth/create-auth.ts'
import { createSessions } from './auth/sessions.ts'
import { describeHealth } from './describe-health.ts'
import { createGatewayHost } from './gateway-host.ts'
import { loadConfiguration, readText } from './load-configuration.ts'
import type { FindHost } from './managed-infra.ts'
import { createMetricsHandler, createMetricsRoute } from './metrics-route.ts'
import { createObserver } from './observe/create-observer.ts'
import { createOperatorHandler, createOperatorPort } from './operator-handler.ts'
import { createPages } from './pages.ts'
import { DEFAULT_REQUEST_TIMEOUT_MS, type HttpServer, serveHttp } from './serve-http.ts'
import { createServerHandler } from './server-handler.ts'
import { createSetupApi } from './setup/create-setup-api.ts'
import { createSharedStores } from './shared-stores.ts'
import { startGateway } from './start-gateway.ts'

/**
 * How long requests in flight may take after SIGTERM; those that are still open shortly before are answered 503. Payments not
 * settled by then are finished after the next start.
 */
const GRACE_MS = 25_000
const LEFT_OPEN =
  'requests were still open when the server had to stop, and were answered 503; payments among them are finished after the next start'

export interface BootOptions {
  /** Default: DNS. */
  findHost?: FindHost
  /** Writes lines that must be seen at any log level. Default: to standard output. */
  print?(line: string): void
  /** Writes the lines of the log. Default: to standard output. */
  log?(line: string): void
}

/**
 * Starts the standalone server. It listens at once. Requests are answered by the running gateway or, while none is
 * configured, by the setup page; saving another configuration swaps the gateway and needs no restart. Resolves when the
 * gateway sells, or when the server waits for setup.
 */
export async function boot(env: Env, options: BootOptions = {}): Promise<{ close(): Promise<void> }> {
  const print = options.print ?? ((line: string) => void process.stdout.write(line))
  const say = (level: string, message: string, more: object = {}) =>
    print(`${printable(JSON.stringify({ level, time: new Date().toISOString(), message, ...more }))}\n`)
  const loaded = await loadConfiguration(env, {
    warn: (message) => say('warn', message),
    findHost: options.findHost,
  })
  const observer = createObserver({
    ...loaded.configuration.settings,
    ...(options.log && { write: options.log }),
  })
  const stores = createSharedStores()
  const host = createGatewayHost({
    loaded,
    start: (configuration) => startGateway(configuration, { observer, stores, dataDir: loaded.dataDir }),
    warn: (message) => observer.log.warn(message),
    onChange({ settings }) {
      observer.configure(settings)
      conceal()
    },
  })
  const settings = () => host.configuration().settings
  const conceal = () => {
    const { adminToken, metricsToken } = settings()
    observer.conceal([adminToken, metricsToken].filter((token) => token !== null))
  }
  conceal()
  const baseUrl = () => {
    const { baseUrl: url } = host.configuration().options
    return url !== undefined && URL.canParse(url) ? url.replace(/\/+$/, '') : 'http://localhost'
  }
  let known = { configuration: host.configuration(), basePath: basePathOf(baseUrl()) }
  /** Needed for every request, so it is worked out once per configuration. */
  const basePath = () => {
    const configuration = host.configuration()
    if (known.configuration !== configuration) known = { configuration, basePath: basePathOf(baseUrl()) }
    return known.basePath
  }

  const { port, adminPort, metricsPort } = settings()
  const ownPort = adminPort !== null
  /** The address of the operator's pages; a proxy in front may have another one. */
  const pagesUrl = () => (ownPort ? `http://localhost:${pagesServer?.port ?? adminPort}` : baseUrl())
  const sessions = createSessions()
  const inviteNext = (fresh: string) =>
    say('info', 'for the next login', { url: `${pagesUrl()}/admin?token=${fresh}` })
  const token = createAdminToken(() => settings().adminToken, inviteNext)
  const auth = createAuth({
    token,
    sessions,
    pageLocation: (request) =>
      ownPort
        ? {
            cookiePaths: pagePaths(''),
            hosts: [],
            secure: request.headers.get('origin')?.startsWith('https:') === true,
          }
        : {
            cookiePaths: pagePaths(basePath()),
            hosts: [new URL(baseUrl()).host],
            secure: baseUrl().startsWith('https:'),
          },
    describe: () => ({ configured: host.phase() !== 'setup', version: VERSION }),
    describeForOperator() {
      const { agentName, network } = host.current()?.gateway.discovery ?? {}
      return { ...(agentName !== undefined && { agentName }), ...(network !== undefined && { network }) }
    },
  })
  const startedAt = Date.now()
  const health = () => ({
    ...describeHealth(host.configuration()),
    configured: host.phase() !== 'setup',
    uptimeSeconds: Math.floor((Date.now() - startedAt) / 1000),
  })
  const operator = createOperatorHandler({
    basePath: () => (ownPort ? '' : basePath()),
    phase: host.phase,
    auth,
    setupApi: createSetupApi({
      environment: env,
      saved: () => host.configuration().saved,
      read: loaded.read,
      async state() {
        const { describeState } = await import('./setup/describe-state.ts')
        return describeState({
          configured: host.phase() !== 'setup',
          configuration: host.configuration(),
          environment: env,
          fileFaults: host.fileFaults(),
          dataDir: loaded.dataDir,
          readFile: readText,
        })
      },
      async save(values, { confirmed, token: given, request, peer }) {
        const before = settings().adminToken
        const saved = await host.save(values, confirmed, () => auth.refuseToken(request, given, peer))
        // With another token, everybody who logged in with the old one is logged out.
        if (settings().adminToken !== before) sessions.endOthers(auth.sessionOf(request)?.id)
        if (settings().adminToken === null && before !== null) inviteNext(token.printed() ?? '')
        if (saved.kind === 'saved') observer.log.info({ url: saved.url }, 'the saved configuration is live')
        return saved
      },
    }),
    adminApi: () => host.current()?.admin,
    pages: createPages(),
  })
  const handler = createServerHandler({
    basePath,
    phase: host.phase,
    untilStarted: host.untilStarted,
    operator: ownPort ? undefined : operator,
    hasShopWindow: () => host.configuration().config?.shopWindow != null,
    metrics: createMetricsRoute({ text: observer.metrics, token: () => settings().metricsToken, auth }),
    gateway: host.answer,
    health,
  })

  const onError = (error: unknown) =>
    observer.onAlert('request-failed', error instanceof Error ? error.message : 'unknown')
  const onLeftOpen = (requests: number) => observer.log.warn({ requests }, LEFT_OPEN)
  const servers: HttpServer[] = []
  let pagesServer: HttpServer | undefined
  const close = async () => {
    host.current()?.closeDashboard()
    await Promise.all(servers.map((server) => server.close(GRACE_MS)))
    await host.close()
    await observer.close()
  }
  try {
    const trustProxy = () => host.configuration().options.trustProxy === true
    // Must not be shorter than the gateway's own limit, which answers with a reason.
    const requestTimeoutMs = () =>
      Math.max(DEFAULT_REQUEST_TIMEOUT_MS, (host.configuration().config?.requestTimeoutSeconds ?? 0) * 1000)
    servers.push(await listen('PORT', port, { handler, trustProxy, onError, onLeftOpen, requestTimeoutMs }))
    if (adminPort !== null) {
      const pages = createOperatorPort(operator, health)
      pagesServer = await listen('ADMIN_PORT', adminPort, { handler: pages, trustProxy, onError })
      servers.push(pagesServer)
    }
    if (metricsPort !== null) {
      const metrics = createMetricsHandler(observer.metrics)
      servers.push(await listen('METRICS_PORT', metricsPort, { handler: metrics, onError }))
    }
    await host.start()
  } catch (error) {
    await close()
    throw error
  }
  announce()
  return { close }

  function announce(): void {
    const query = token.printed() === undefined ? '' : `?token=${token.printed()}`
    const { port: listening } = servers[0]!
    if (host.phase() === 'setup') {
      const { missing, faults } = host.configuration()
      const why = [...host.fileFaults(), ...faults, ...missing]
      say('warn', 'not configured yet: open the URL', {
        url: `${pagesUrl()}/setup${query}`,
        port: listening,
        why,
      })
      return
    }
    const { plans, routes, network, networks, walletAddress } = host.current()!.gateway.discovery
    const sold = { plans: plans.length, routes: routes.length }
    const where = networks && { networks: networks.map(({ network: id, name }) => `${id} (${name})`) }
    say('info', 'ready', { url: baseUrl(), port: listening, network, ...where, walletAddress, ...sold })
    if (query !== '') say('info', 'the dashboard, for one login', { url: `${pagesUrl()}/admin${query}` })
    const configured = host.configuration().config?.networks ?? []
    const without = configured.filter(({ refundWalletPrivateKey }) => refundWalletPrivateKey === null)
    if (without.length > 0) {
      const on = without.length < configured.length ? ` for ${without.map(nameOf).join(', ')}` : ''
      say(
        'warn',
        `REFUND_WALLET_PRIVATE_KEY is not set${on}: refunds wait until you set it, normally to the key of SVC_WALLET_ADDRESS.`,
      )
    }
  }
}

/** The paths of the pages and of their APIs; no route of the seller can be below them. */
const pagePaths = (basePath: string): string[] => [`${basePath}/admin`, `${basePath}/setup`]

const nameOf = ({ network }: { network: { name: string } }): string => network.name

async function listen(
  name: 'PORT' | 'ADMIN_PORT' | 'METRICS_PORT',
  port: number,
  options: Omit<Parameters<typeof serveHttp>[0], 'port'>,
): Promise<HttpServer> {
  try {
    return await serveHttp({ ...options, port })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be opened (${code})`
    throw new ConfigError([`${name} ${port} ${why}; set ${name} to a free one, for example ${port + 1}.`])
  }
}
