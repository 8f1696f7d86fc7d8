import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { askHealth } from '../checks/ask-health.ts'
import type { ServerSettings } from '../config/server-variables.ts'
import { ConfigError } from '../errors.ts'
import { createGateway } from '../gateway.ts'
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

/**
 * Opens the operator's API. Only the running server can use the embedded store, so that server is asked. A store that
 * instances share is read directly; changes are made by the running server if there is one. Without a server, the store is
 * opened by a gateway that runs no jobs.
 */
export async function openBackstage(loaded: Loaded, purpose: 'look' | 'act'): Promise<OpenBackstage> {
  const { config, settings, options, missing, faults } = loaded.configuration
  const embedded = config === undefined || config.store.kind === 'embedded'
  const asksServer = settings.adminToken !== null && (embedded || purpose === 'act')
  const serverUrl = asksServer ? await findServer(options.baseUrl, settings) : undefined
  if (serverUrl !== undefined) return overHttp(serverUrl, settings.adminToken!)
  if (!config) throw new ConfigError([...loaded.fileFaults, ...faults, ...missing])
  if (config.store.kind === 'embedded') refuseAbsent(config.store.dataDir)
  try {
    return await overStore(loaded)
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.faults.some((fault) => /in use by another/.test(fault)))
      throw error
    const how =
      settings.adminToken === null
        ? 'If that is your server, give it and this command the same ADMIN_TOKEN: the command then asks the server.'
        : settings.adminPort === null
          ? `If that is your server, set BASE_URL or PORT to where it answers: ${options.baseUrl} does not.`
          : `If that is your server, set ADMIN_PORT as it has it: port ${settings.adminPort} of this machine does not answer.`
    throw new ConfigError([...error.faults, how])
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
    if (health.kind === 'ours' && health.configured) return candidate
  }
  return undefined
}

function overHttp(url: string, adminToken: string): OpenBackstage {
  const place = `the server at ${url}`
  return {
    via: 'server',
    place,
    async ask(path, body) {
      const response = await fetch(`${url}/admin/api${path}`, {
        method: body ? 'POST' : 'GET',
        redirect: 'error',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
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
    place: `the ${backstage.store.name} store`,
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
      await gateway.close()
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
