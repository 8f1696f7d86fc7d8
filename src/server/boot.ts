import type { Env } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { VERSION } from '../gateway.ts'
import { printable } from '../protocol/printable.ts'
import { basePathOf } from '../transports/http/request-target.ts'
import { createAdminToken } from './auth/admin-token.ts'
import { createAuth } from './auth/create-auth.ts'
import { createSessions } from './auth/sessions.ts'
import { loadConfiguration, readText } from './boot-config.ts'
import { createServerHandler } from './boot-handler.ts'
import { describeHealth } from './boot-health.ts'
import { createHouse } from './boot-house.ts'
import { createOperatorHandler, createOperatorPort } from './boot-operator.ts'
import { createStoreKeeper } from './boot-store.ts'
import { openTenant } from './boot-tenant.ts'
import type { FindHost } from './managed-infra.ts'
import { createMetricsHandler, createMetricsRoute } from './metrics-route.ts'
import { createObserver } from './observe/create-observer.ts'
import { createPages } from './pages.ts'
import { DEFAULT_REQUEST_TIMEOUT_MS, type HttpServer, serveHttp } from './serve-http.ts'
import { createSetupApi } from './setup/create-setup-api.ts'

/** How long requests in flight may still take after SIGTERM; what is not settled then is finished after the next start. */
const GRACE_MS = 25_000

export interface BootOptions {
  /** Default: DNS. */
  findHost?: FindHost
  /** For lines that must be seen whatever the log level is. Default: standard output. */
  print?(line: string): void
  /** For the lines of the log. Default: standard output. */
  log?(line: string): void
}

/**
 * Starts the standalone server. It listens at once and answers from the gateway that is live, from the setup page while
 * none is configured, and never ends when another configuration is saved. Resolves when it sells, or waits for setup.
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
  const keeper = createStoreKeeper()
  const house = createHouse({
    loaded,
    open: (configuration) => openTenant(configuration, { observer, keeper }),
    warn: (message) => observer.log.warn(message),
    onChange({ settings }) {
      observer.configure(settings)
      conceal()
    },
  })
  const settings = () => house.configuration().settings
  const conceal = () => {
    const { adminToken, metricsToken } = settings()
    observer.conceal([adminToken, metricsToken].filter((token) => token !== null))
  }
  conceal()
  const baseUrl = () => {
    const { baseUrl: url } = house.configuration().options
    return url !== undefined && URL.canParse(url) ? url.replace(/\/+$/, '') : 'http://localhost'
  }
  let place = { configuration: house.configuration(), basePath: basePathOf(baseUrl()) }
  /** Asked for every request, and changed by a new configuration only. */
  const basePath = () => {
    const configuration = house.configuration()
    if (place.configuration !== configuration) place = { configuration, basePath: basePathOf(baseUrl()) }
    return place.basePath
  }

  const { port, adminPort, metricsPort } = settings()
  const ownPort = adminPort !== null
  /** Where the operator's pages are, as far as this server knows. */
  const pagesUrl = () => (ownPort ? `http://localhost:${pagesServer?.port ?? adminPort}` : baseUrl())
  const sessions = createSessions()
  const inviteNext = (fresh: string) =>
    say('info', 'for the next login', { url: `${pagesUrl()}/admin?token=${fresh}` })
  const token = createAdminToken(() => settings().adminToken, inviteNext)
  const auth = createAuth({
    token,
    sessions,
    place: (request) =>
      ownPort
        ? { basePath: '', hosts: [], secure: request.headers.get('origin')?.startsWith('https:') === true }
        : { basePath: basePath(), hosts: [new URL(baseUrl()).host], secure: baseUrl().startsWith('https:') },
    describe: () => ({ configured: house.phase() !== 'setup', version: VERSION }),
    describeInside() {
      const { agentName, network } = house.slot.current()?.gateway.discovery ?? {}
      return { ...(agentName !== undefined && { agentName }), ...(network !== undefined && { network }) }
    },
  })
  const startedAt = Date.now()
  const health = () => ({
    ...describeHealth(house.configuration()),
    configured: house.phase() !== 'setup',
    uptimeSeconds: Math.floor((Date.now() - startedAt) / 1000),
  })
  const operator = createOperatorHandler({
    basePath: () => (ownPort ? '' : basePath()),
    phase: house.phase,
    auth,
    setupApi: createSetupApi({
      environment: env,
      saved: () => house.configuration().saved,
      read: loaded.read,
      async state() {
        const { describeState } = await import('./setup/describe-state.ts')
        return describeState({
          configured: house.phase() !== 'setup',
          configuration: house.configuration(),
          environment: env,
          fileFaults: house.fileFaults(),
          dataDir: loaded.dataDir,
          readFile: readText,
        })
      },
      async save(values, { confirmed, token: given, request, peer }) {
        const before = settings().adminToken
        const saved = await house.save(values, confirmed, () => auth.doubt(request, given, peer))
        // Another token means that whoever knew the old one is out.
        if (settings().adminToken !== before) sessions.endOthers(auth.sessionOf(request)?.id)
        if (settings().adminToken === null && before !== null) inviteNext(token.printed() ?? '')
        if (saved.kind === 'saved') observer.log.info({ url: saved.url }, 'the saved configuration is live')
        return saved
      },
    }),
    adminApi: () => house.slot.current()?.admin,
    pages: createPages(),
  })
  const handler = createServerHandler({
    basePath,
    phase: house.phase,
    settled: house.settled,
    operator: ownPort ? undefined : operator,
    metrics: createMetricsRoute({ text: observer.metrics, token: () => settings().metricsToken, auth }),
    gateway: house.slot.answer,
    health,
  })

  const onError = (error: unknown) =>
    observer.onAlert('request-failed', error instanceof Error ? error.message : 'unknown')
  const servers: HttpServer[] = []
  let pagesServer: HttpServer | undefined
  const close = async () => {
    house.slot.current()?.leave()
    await Promise.all(servers.map((server) => server.close(GRACE_MS)))
    await house.slot.close()
    await observer.close()
  }
  try {
    const trustProxy = () => house.configuration().options.trustProxy === true
    // The gateway's own limit is the one that answers with a reason; this one only must not be the shorter of the two.
    const requestTimeoutMs = () =>
      Math.max(DEFAULT_REQUEST_TIMEOUT_MS, (house.configuration().config?.requestTimeoutSeconds ?? 0) * 1000)
    servers.push(await listen('PORT', port, { handler, trustProxy, onError, requestTimeoutMs }))
    if (adminPort !== null) {
      const pages = createOperatorPort(operator, health)
      pagesServer = await listen('ADMIN_PORT', adminPort, { handler: pages, trustProxy, onError })
      servers.push(pagesServer)
    }
    if (metricsPort !== null) {
      const metrics = createMetricsHandler(observer.metrics)
      servers.push(await listen('METRICS_PORT', metricsPort, { handler: metrics, onError }))
    }
    await house.start()
  } catch (error) {
    await close()
    throw error
  }
  announce()
  return { close }

  function announce(): void {
    const query = token.printed() === undefined ? '' : `?token=${token.printed()}`
    const { port: listening } = servers[0]!
    if (house.phase() === 'setup') {
      const { missing, faults } = house.configuration()
      const why = [...house.fileFaults(), ...faults, ...missing]
      say('warn', 'not configured yet: open the URL', {
        url: `${pagesUrl()}/setup${query}`,
        port: listening,
        why,
      })
      return
    }
    const { plans, routes, network, walletAddress } = house.slot.current()!.gateway.discovery
    const sold = { plans: plans.length, routes: routes.length }
    say('info', 'ready', { url: baseUrl(), port: listening, network, walletAddress, ...sold })
    if (query !== '') say('info', 'the dashboard, for one login', { url: `${pagesUrl()}/admin${query}` })
    if (house.configuration().config?.refundWalletPrivateKey === null) {
      say(
        'warn',
        'REFUND_WALLET_PRIVATE_KEY is not set: refunds wait until you set it, normally to the key of SVC_WALLET_ADDRESS.',
      )
    }
  }
}

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
