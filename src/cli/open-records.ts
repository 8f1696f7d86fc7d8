import { tmpdir } from 'node:os'
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
import { ASK_IT, type OpenBackstage, orFault, placeOf } from './operator-api.ts'

/** So many entries of the log show which networks are sold on. */
const SAMPLE = 500
/** The operator's API of a gateway that runs no jobs. */
export async function overStore({ configuration }: Loaded): Promise<OpenBackstage> {
  const gateway = await createGateway(configuration.options, configuration.source, {
    engine: (engine) => ({ ...engine, start: async () => {} }),
    // Alerts are left out here: `paystile doctor` reports what keeps a server from selling.
    alert: () => {},
  })
  return inProcess(gateway, `the ${gateway.backstage.store.name} store`, () => gateway.close())
}

/** The records of a gateway that runs elsewhere, read and never changed. */
export async function overBooks(
  choice: StoreChoice,
  networks: readonly Network[] = [],
): Promise<OpenBackstage> {
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
