import type { DevChain } from '../src/testing/dev-chain.ts'
import { startDevChain } from '../src/testing/dev-chain.ts'
import { type Cell, cellOf, measureInTurns } from './cells.ts'
import { type ChildServer, serverProgram, startServer } from './child-server.ts'
import { requestText } from './connection.ts'
import { type CreditAccounts, fillAccounts, GRANTED, PLAN_ID } from './credit-accounts.ts'
import { runLoad } from './load.ts'
import { PRICE } from './payments.ts'
import { PREPAID, type PrepaidCells } from './prepaid-bars.ts'
import { choiceOf } from './sold-stores.ts'
import { ANSWER_BYTES, bench, keyOf, networksEnv, POLL_MS, sellerOf, startStore } from './targets.ts'

export interface PrepaidSettings {
  /** In the store of the gateway that is asked for both one account and many. */
  accounts: number
  seconds: number
  times: number
  /** Calls before the first measurement of a server. */
  warmUp: number
}

const TOKEN_SECRET = 'a shared secret of more than thirty-two bytes'
/** Before every further measurement. */
const WARM_UP_AGAIN = 1000

/** Prepaid calls beside a proxy that only forwards to the same backend, all in turns. */
export async function measurePrepaid(
  root: string,
  { accounts, seconds, times, warmUp }: PrepaidSettings,
  say: (name: string, cell: Cell) => void,
): Promise<PrepaidCells> {
  const chain = await startDevChain()
  const started: Array<{ stop(): Promise<void> }> = [chain]
  const also = <T extends { stop(): Promise<void> }>(server: T): T => {
    started.unshift(server)
    return server
  }
  try {
    const backend = also(await startServer(bench('backend.js'), [], { BODY_BYTES: String(ANSWER_BYTES) }))
    const bare = also(await startServer(bench('bare-proxy.js'), [], { BACKEND_URL: backend.url }))
    const ours = { chain, root, backendUrl: backend.url }
    const embedded = also(await startPrepaid({ ...ours, accounts, store: 'embedded' }))
    const redis = also(await startPrepaid({ ...ours, accounts: 1, store: 'redis' }))
    const postgres = also(await startPrepaid({ ...ours, accounts: 1, store: 'postgres' }))
    const one = (server: { bearers: string[] }) => server.bearers.slice(0, 1)
    const plans: Record<keyof PrepaidCells, [ChildServer, readonly string[], number]> = {
      // It forwards as many bytes: the same token, which nobody checks.
      [PREPAID.bare]: [bare, one(embedded), 64],
      [PREPAID.embedded]: [embedded, one(embedded), 64],
      [PREPAID.accounts]: [embedded, embedded.bearers, 64],
      [PREPAID.redis]: [redis, one(redis), 64],
      [PREPAID.postgres]: [postgres, one(postgres), 64],
      [PREPAID.bareAlone]: [bare, one(embedded), 1],
      [PREPAID.embeddedAlone]: [embedded, one(embedded), 1],
    }
    const measures = Object.entries(plans).map(([name, [server, bearers, concurrency]]) => {
      let left = warmUp
      const measure = async () => {
        const count = left
        left = WARM_UP_AGAIN
        return measureCalls(server, bearers, { concurrency, seconds, warmUp: count })
      }
      return [name, measure] as const
    })
    return (await measureInTurns(times, Object.fromEntries(measures), say)) as PrepaidCells
  } finally {
    for (const server of started) await server.stop()
  }
}

async function measureCalls(
  server: ChildServer,
  bearers: readonly string[],
  { concurrency, seconds, warmUp }: { concurrency: number; seconds: number; warmUp: number },
): Promise<Cell> {
  const requests = bearers.map((authorization) => Buffer.from(requestText('GET', '/paid', { authorization })))
  const call: Parameters<typeof runLoad>[3] = async (connection, index) => {
    const { status } = await connection.send(requests[index % requests.length]!)
    return status === 200 ? undefined : `HTTP ${status}`
  }
  await runLoad(server.url, concurrency, { count: warmUp }, call)
  const before = await server.usage()
  const load = await runLoad(server.url, concurrency, { seconds }, call)
  return cellOf(load, before, await server.usage())
}

export interface PrepaidOptions {
  chain: DevChain
  root: string
  backendUrl: string
  store: 'embedded' | 'redis' | 'postgres'
  accounts: number
  /** A store that runs already, with the accounts that are in it. */
  running?: { env: Record<string, string>; filled: CreditAccounts }
  /** Default: as often as the peer asks. */
  pollMs?: string
}

/** Our gateway with one raw route, and with accounts in its store that can pay for it. */
export async function startPrepaid(options: PrepaidOptions) {
  const { chain, root, backendUrl, store, accounts, running, pollMs = POLL_MS } = options
  const { env, stop } = await startStore({ store, ...(running && { runningStore: running.env }) })
  const filled = running?.filled ?? (await fillAccounts(choiceOf(env), accounts))
  const server = await startServer(
    serverProgram(root),
    ['serve'],
    {
      ...networksEnv([chain]),
      SVC_WALLET_ADDRESS: sellerOf(chain),
      SVC_SECRET_KEY: '5'.repeat(64),
      TOKEN_SECRET,
      PLANS: JSON.stringify([{ planId: PLAN_ID, unitAmount: '$1.00', credits: GRANTED }]),
      ROUTES: JSON.stringify([
        { routeId: 'paid', method: 'GET', path: '/paid', unitAmount: PRICE, credits: 1, raw: true },
      ]),
      PROXY_TO_BASE_URL: backendUrl,
      GAS_WALLET_PRIVATE_KEY: keyOf(chain),
      RATE_LIMIT_PER_MINUTE: '0',
      POLL_INTERVAL_MS: pollMs,
      ...env,
    },
    '/ready',
  )
  return {
    ...server,
    bearers: await filled.bearers(server.url, TOKEN_SECRET),
    async stop() {
      await server.stop()
      await stop()
    },
  }
}
