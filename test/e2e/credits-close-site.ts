import { createBuyer } from '../../src/buyer/index.ts'
import type { ClosedCredits } from '../../src/index.ts'
import type { DevAccount, DevChain } from '../../src/testing/index.ts'
import { startStandalone } from '../browser/standalone.ts'
import { cliProcess, type Ran } from './cli-terminal.ts'

const ADMIN_TOKEN = 'the-operator-token-of-this-test'

/** The standalone server in a process of its own, which can be killed. */
export interface CrashSite {
  buy(buyer: DevAccount): Promise<{ challengeId: string; accessToken: string }>
  call(accessToken: string): Promise<Response>
  close(challengeId: string): Promise<ClosedCredits>
  /** A command that asks this server. */
  paystile(...argv: string[]): Promise<Ran>
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export async function startCrashSite({
  chain,
  seller,
  proxyTo,
}: {
  chain: DevChain
  seller: DevAccount
  proxyTo: string
}): Promise<CrashSite> {
  const settings = {
    ADMIN_TOKEN,
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: seller.address,
    GAS_WALLET_PRIVATE_KEY: chain.account(2).privateKey,
    REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
    REFUND_INTERVAL_SECONDS: '1',
    TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
    PLANS: '[{"planId":"basic","unitAmount":"$1.00","credits":50}]',
    ROUTES: '[{"routeId":"weather","method":"GET","path":"/weather/:city","unitAmount":"$0.01","credits":1}]',
    PROXY_TO_BASE_URL: proxyTo,
    POLL_INTERVAL_MS: '50',
  }
  const server = await startStandalone(settings)
  return {
    async buy({ account }) {
      const { grant } = await createBuyer({ account, maxAmount: '$1.00' }).buy(server.url, {
        planId: 'basic',
      })
      return grant
    },
    call: (accessToken) =>
      fetch(`${server.url}/weather/paris`, { headers: { authorization: `Bearer ${accessToken}` } }),
    async close(challengeId) {
      const response = await fetch(`${server.url}/admin/api/challenges/${challengeId}/close-credits`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: '{}',
      })
      if (!response.ok) throw new Error(await response.text())
      return (await response.json()) as ClosedCredits
    },
    paystile: (...argv) =>
      cliProcess({ ...settings, BASE_URL: server.url, PORT: new URL(server.url).port }, ...argv),
    kill: () => server.kill(),
    start: () => server.start(),
    stop: () => server.stop(),
  }
}
