import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from '../e2e/routes-world.ts'
import { TOKEN_SECRET } from '../e2e/world.ts'
import { closeVisitors, openVisitor, type Visitor } from './browser.ts'
import { type InjectedWallet, injectWallet } from './injected-wallet.ts'

const ROUTES = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', description: 'One city' },
  { routeId: 'site', method: 'GET', path: '/site/:page', unitAmount: '$0.01', raw: true },
] as const

const PLANS = [{ planId: 'basic', unitAmount: '$1.00', description: 'Forecasts for an hour' }]

interface Person extends Visitor {
  wallet: InjectedWallet
  buyer: DevAccount
  open(target: string): Promise<void>
  pay(): Promise<void>
}

/** A shop whose pages take payments by hand, and a browser to visit it with. */
export interface PayWorld {
  routes: RoutesWorld
  person(options?: { micro?: bigint; wallet?: Parameters<typeof injectWallet>[3] }): Promise<Person>
  paidBy(buyer: DevAccount): Promise<bigint[]>
  stop(): Promise<void>
}

export async function startPayWorld(): Promise<PayWorld> {
  const routes = await startRoutesWorld({
    options: {
      routes: ROUTES,
      plans: PLANS,
      tokenSecret: TOKEN_SECRET,
      settleWaitSeconds: 1,
      refundMinAgeSeconds: 5,
      agentName: 'Weather & Sons',
    },
  })
  return {
    routes,
    async person(options = {}) {
      const { chain, baseUrl } = routes.world
      const buyer = await chain.newBuyer({ micro: options.micro ?? 5n * CALL_PRICE })
      const visitor = await openVisitor()
      const wallet = await injectWallet(visitor.page, buyer, chain.rpcUrl, options.wallet)
      return {
        ...visitor,
        wallet,
        buyer,
        open: async (target) => void (await visitor.page.goto(baseUrl + target)),
        pay: () => visitor.page.getByRole('button', { name: /^Pay with/ }).click(),
      }
    },
    paidBy: async (buyer) => (await routes.world.flows(buyer)).paid,
    async stop() {
      await closeVisitors()
      await routes.stop()
    },
  }
}
