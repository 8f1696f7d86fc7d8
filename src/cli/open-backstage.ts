import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askHealth } from '../checks/ask-health.ts'
import type { ServerSettings } from '../config/server-variables.ts'
import { ConfigError, GatewayError } from '../errors.ts'
import { createGateway, openBooks } from '../gateway.ts'
import type { Store, StoreChoice } from '../ports.ts'
import type { Network } from '../protocol/network.ts'
import { NETWORKS } from '../protocol/networks.ts'
import type { AdminGateway } from '../server/admin/admin-parts.ts'
import { createAdminApi } from '../server/admin/create-admin-api.ts'
import { createSalesBook } from '../server/admin/sales-book.ts'
import { createWalletWatch } from '../server/admin/wallet-watch.ts'
import type { Loaded } from '../server/load-configuration.ts'
import { createAlertBook } from '../server/observe/alert-book.ts'

/** The operator's API: that of a running server, or one over the store itself. */
export interface OpenBackstage {
  via: 'server' | 'store'
  /** Shown to people, such as `the server at http://localhost:3000`. */
  place: string
  /** `path` is below `/admin/api`; with a body it is a POST. Rejects with the API's message unless the answer is 2xx. */
  ask(path: string, body?: object): Promise<Response>
  close(): Promise<void>
}

const HEALTH_LIMIT_MS = 3_000
/** An address that the operator states is worth waiting for: a dashboard is loaded when it is first asked. */
const STATED_LIMIT_MS = 30_000
/** So many entries of the log show which networks are sold on. */
const SAMPLE = 500
const ASK_IT =
  'Only the gateway itself changes its records: serve its dashboard (paystileAdmin), and set ADMIN_URL and ADMIN_TOKEN to ask it.'

/**
 * Opens the operator's API. Only the running server can use the embedded store, so that server is asked. A store that
 * instances share is read directly; changes are made by the running server if there is one. Without a server, the store is
 * opened by a gateway that runs no jobs. A gateway that is part of another application is asked at ADMIN_URL; where it has
 * no dashboard, its records are read beside it.
 */
export async function openBackstage(loaded: Loaded, purpose: 'look' | 'act'): Promise<OpenBackstage> {
  const { config, settings, options, missing, faults } = loaded.configuration
  if (settings.adminUrl !== null) return overHttp(await adminApi(settings.adminUrl, settings.adminToken))
  const embedded = config === undefined || config.store.kind === 'embedded'
  const asksServer = settings.adminToken !== null && (embedded || purpose === 'act')
  const serverUrl = asksServer ? await findServer(options.baseUrl, settings) : undefined
  if (serverUrl !== undefined)
    return overHttp({ place: serverUrl, api: `${serverUrl}/admin/api`, token: settings.adminToken! })
  if (!config) {
    const choice = faults.length + loaded.fileFaults.length === 0 ? recordsOf(loaded) : undefined
    if (!choice) throw new ConfigError([...loaded.fileFaults, ...faults, ...missing])
    if (purpose === 'act')
      throw new ConfigError([
        `${placeOf(choice)} belongs to a gateway that is not configured here. ${ASK_IT}`,
      ])
    return overBooks(choice)
  }
  if (config.store.kind === 'embedded') refuseAbsent(config.store.dataDir)
  try {
    return await overStore(loaded)
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.faults.some((fault) => /in use by another/.test(fault)))
      throw error
    if (purpose === 'look')
      return overBooks(
        config.store,
        config.networks.map(({ network }) => network),
      )
    const how =
      settings.adminToken === null
        ? 'If that is your server, give it and this command the same ADMIN_TOKEN: the command then asks the server.'
        : settings.adminPort === null
          ? `If that is your server, set BASE_URL or PORT to where it answers: ${options.baseUrl} does not.`
          : `If that is your server, set ADMIN_PORT as it has it: port ${settings.adminPort} of this machine does not answer.`
    throw new ConfigError([...error.faults, how, ASK_IT])
  }
}

/** Where the server answers: at its base URL or, if that leads elsewhere from here, at its port on this machine. */
async function findServer(
  baseUrl: string | undefined,
  { port, adminPort }: ServerSettings,
): Promise<string | undefined> {
  const url = (baseUrl ?? `http://localhost:${port}`).replace(/\/+$/, '')
  if (!URL.canParse(url)) return undefined
  const here = `http://127.0.0.1:${port}${new URL(url).pathname.replace(/\/$/, '')}`
  for (const candidate of adminPort === null ? [url, here] : [`http://127.0.0.1:${adminPort}`]) {
    // The token is sent only to a server that answers like ours.
    const health = await askHealth(candidate, HEALTH_LIMIT_MS)
    // A gateway that is part of another application answers as well, but has its dashboard elsewhere.
    const isOurs = health.kind === 'ours' && health.configured
    if (isOurs && (await isDashboard(`${candidate}/admin`, HEALTH_LIMIT_MS))) return candidate
  }
  return undefined
}

/** The token is sent only to a dashboard. */
async function isDashboard(url: string, limitMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(limitMs)
  const session = await fetch(`${url}/api/session`, { redirect: 'error', signal })
    .then((response) => response.json() as Promise<{ loggedIn?: unknown; version?: unknown }>)
    .catch(() => undefined)
  return session?.loggedIn === false && typeof session.version === 'string'
}

async function adminApi(url: string, token: string | null) {
  if (token === null)
    throw new ConfigError([
      `ADMIN_URL is set, and ADMIN_TOKEN is not: set it to the token that opens ${url}.`,
    ])
  if (await isDashboard(url, STATED_LIMIT_MS)) return { place: url, api: `${url}/api`, token }
  throw new ConfigError([
    `ADMIN_URL is ${url}, where no dashboard answers: set it to the address at which you open the dashboard.`,
  ])
}

function overHttp({ place: url, api, token }: { place: string; api: string; token: string }): OpenBackstage {
  const place = `the server at ${url}`
  return {
    via: 'server',
    place,
    async ask(path, body) {
      const response = await fetch(`${api}${path}`, {
        method: body ? 'POST' : 'GET',
        redirect: 'error',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }).catch((cause: unknown) => {
        throw new Error(`${place} does not answer any more`, { cause })
      })
      if (response.status === 401) {
        throw new Error(`${place} has another ADMIN_TOKEN, or none; give it and this command the same one.`)
      }
      return orFault(response)
    },
    close: async () => {},
  }
}

async function overStore({ configuration }: Loaded): Promise<OpenBackstage> {
  const gateway = await createGateway(configuration.options, configuration.source, {
    engine: (engine) => ({ ...engine, start: async () => {} }),
    // Alerts are left out here: `paystile doctor` reports what keeps a server from selling.
    alert: () => {},
  })
  return inProcess(gateway, `the ${gateway.backstage.store.name} store`, () => gateway.close())
}

/** The records of a gateway that runs elsewhere, read and never changed. */
async function overBooks(choice: StoreChoice, networks: readonly Network[] = []): Promise<OpenBackstage> {
  const noRoom = `${tmpdir()} has no room for a copy of ${placeOf(choice)}, from which this command would read: give your server and this command the same ADMIN_TOKEN, so that the server is asked, or set TMPDIR to a folder with more room.`
  const { backstage, close } = await openBooks(choice, networks).catch((error: unknown) => {
    throw isFull(error) ? new ConfigError([noRoom]) : error
  })
  const known = networks.length > 0 ? networks : await networksIn(backstage.store)
  const refuse = async () => {
    throw new GatewayError('INVALID_REQUEST', ASK_IT)
  }
  const gateway: AdminGateway = {
    backstage: { ...backstage, networks: known },
    ...{ cancel: refuse, retryRefund: refuse, proveRefund: refuse, closeCredits: refuse },
  }
  return inProcess(gateway, placeOf(choice), close)
}

/** Of the disk that the embedded store is copied to. */
const isFull = (error: unknown): boolean =>
  error instanceof Error && /^ENOSPC|database or disk is full/.test(error.message)

/** Where records may be, if nothing else is configured. */
function recordsOf({ configuration, dataDir }: Loaded): StoreChoice | undefined {
  const { databaseUrl, redisUrl } = configuration.options
  if (databaseUrl) return { kind: 'postgres', url: databaseUrl, wakeupsUrl: null }
  if (redisUrl) return { kind: 'redis', url: redisUrl, mustBeDurable: false }
  return existsSync(join(dataDir, 'paystile.db')) ? { kind: 'embedded', dataDir } : undefined
}

function placeOf(choice: StoreChoice): string {
  return choice.kind === 'embedded' ? join(choice.dataDir, 'paystile.db') : `the ${choice.kind} store`
}

/** What was sold on first, or else the network that is standard. */
async function networksIn(store: Pick<Store, 'log' | 'get'>): Promise<readonly Network[]> {
  const entries = await store.log(0, SAMPLE)
  const rows = await store.get('challenges', [...new Set(entries.map(({ challengeId }) => challengeId))])
  const ids = new Set(rows.flatMap((row) => row?.network ?? []))
  const found = NETWORKS.filter(({ id }) => ids.has(id))
  return found.length > 0 ? found : NETWORKS.slice(0, 1)
}

function inProcess(gateway: AdminGateway, place: string, close: () => Promise<void>): OpenBackstage {
  const { backstage } = gateway
  const book = createSalesBook(backstage.store)
  const api = createAdminApi({
    gateway,
    book,
    wallets: createWalletWatch(backstage),
    alerts: createAlertBook({ now: Date.now, clean: (text) => text, count() {}, tell() {} }),
  })
  return {
    via: 'store',
    place,
    async ask(path, body) {
      const request = new Request(`http://backstage/admin/api${path}`, {
        method: body ? 'POST' : 'GET',
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
      const response = await api(request, new URL(request.url).pathname)
      if (!response) throw new Error(`there is no ${path}`)
      return orFault(response)
    },
    async close() {
      book.close()
      await close()
    },
  }
}

/** Refuses a folder without a store: in a mistyped folder, an empty store would look as if nothing were due. */
function refuseAbsent(dataDir: string): void {
  const path = join(dataDir, 'paystile.db')
  if (existsSync(path)) return
  throw new ConfigError([
    `${path} is not there: set DATA_DIR to the folder of your server, or start it once first.`,
  ])
}

async function orFault(response: Response): Promise<Response> {
  if (response.ok) return response
  const { error } = (await response.json().catch(() => ({}))) as { error?: unknown }
  throw new Error(typeof error === 'string' ? error : `the server answers HTTP ${response.status}`)
}

/** The lines of a streamed response. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop()!
    yield* parts
  }
  if (rest !== '') yield rest
}
