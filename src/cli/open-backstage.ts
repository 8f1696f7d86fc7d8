import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { askHealth } from '../checks/ask-health.ts'
import type { ServerSettings } from '../config/server-variables.ts'
import { ConfigError } from '../errors.ts'
import type { StoreChoice } from '../ports.ts'
import type { Loaded } from '../server/load-configuration.ts'
import { ASK_IT, type OpenBackstage, orFault, placeOf } from './operator-api.ts'

const HEALTH_LIMIT_MS = 3_000
/** An address that the operator states is worth waiting for: a dashboard is loaded when it is first asked. */
const STATED_LIMIT_MS = 30_000

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
    return (await records()).overBooks(choice)
  }
  if (config.store.kind === 'embedded') refuseAbsent(config.store.dataDir)
  try {
    return await (await records()).overStore(loaded)
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.faults.some((fault) => /in use by another/.test(fault)))
      throw error
    if (purpose === 'look')
      return (await records()).overBooks(
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

/** Loaded only here: a running server is asked without an engine of our own. */
const records = () => import('./open-records.ts')

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

/** Where records may be, if nothing else is configured. */
function recordsOf({ configuration, dataDir }: Loaded): StoreChoice | undefined {
  const { databaseUrl, redisUrl } = configuration.options
  if (databaseUrl) return { kind: 'postgres', url: databaseUrl, wakeupsUrl: null }
  if (redisUrl) return { kind: 'redis', url: redisUrl, mustBeDurable: false }
  return existsSync(join(dataDir, 'paystile.db')) ? { kind: 'embedded', dataDir } : undefined
}

/** Refuses a folder without a store: in a mistyped folder, an empty store would look as if nothing were due. */
function refuseAbsent(dataDir: string): void {
  const path = join(dataDir, 'paystile.db')
  if (existsSync(path)) return
  throw new ConfigError([
    `${path} is not there: set DATA_DIR to the folder of your server, or start it once first.`,
  ])
}
