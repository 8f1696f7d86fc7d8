import type { GatewayOptions } from '../../src/config/options.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type Bought, buyAndVanish, buyByTransfer, buyCall, buyPlan, type Shop } from './buyer.ts'
import { buyMetered } from './metered-buyer.ts'
import { buyAndSpend, SPENT } from './prepaid-buyer.ts'
import type { Site } from './site.ts'

export interface Scenario {
  buyers: number
  /** In micro-units. */
  price: bigint
  buy(shop: Shop, buyer: DevAccount, requestId: string): Promise<Bought>
  /** The seller's token endpoint or backend does its work: else everybody gets the money back. */
  sellerWorks: boolean
  /** What is sent stays in the mempool for a while, and over a crash until the next life has looked. */
  slowBlocks?: true
  /** Buyers do not come back after a crash until everything is over. */
  vanishing?: true
  /** It cannot be sold through a facilitator. */
  gasWalletOnly?: true
  /** Credits of each buyer that are spent at the end. */
  spent?: number
  options(site: Site): Partial<GatewayOptions>
}

export const PLANS = [{ planId: 'basic', unitAmount: '$1.00' }]
const PLAN_PRICE = 1_000_000n
const CALL_PRICE = 10_000n
const TOKEN_SECRET = 'a shared secret of more than thirty-two bytes'

const jwt = () => ({ tokenSecret: TOKEN_SECRET })
const tokenApi = (site: Site) => ({ issueTokenApi: site.tokenApiUrl })
const routes = (site: Site) => ({
  ...jwt(),
  routes: [{ routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' } as const],
  proxyTo: { baseUrl: site.backendUrl, secret: 'shared with the backend' },
})

const prepaid = (site: Site) => {
  const { routes: listed, ...others } = routes(site)
  return {
    ...others,
    plans: [{ ...PLANS[0]!, credits: 5 }],
    routes: listed.map((route) => ({ ...route, credits: 1 })),
  }
}

/** The gateway's time runs ahead of a loaded machine's: its buyers must come back before their call is refunded. */
const patient = (site: Site) => ({ ...routes(site), refundMinAgeSeconds: 3600 })

const plan = { buyers: 1, price: PLAN_PRICE, buy: buyPlan }
const call = { buyers: 1, price: CALL_PRICE, buy: buyCall, options: routes }

export const SCENARIOS: Record<string, Scenario> = {
  'plan-jwt': { ...plan, sellerWorks: true, options: jwt },
  mempool: { ...plan, sellerWorks: true, slowBlocks: true, options: jwt },
  'plan-api': { ...plan, sellerWorks: true, options: tokenApi },
  vanishing: { ...plan, buy: buyAndVanish, vanishing: true, sellerWorks: true, options: tokenApi },
  'plan-refund': { ...plan, sellerWorks: false, options: tokenApi },
  'route-call': { ...call, sellerWorks: true, options: patient },
  'route-refund': { ...call, sellerWorks: false },
  'a2a-transfer': {
    ...plan,
    buy: buyByTransfer,
    sellerWorks: true,
    options: (site) => ({ ...tokenApi(site), a2a: true }),
  },
  prepaid: { ...plan, buy: buyAndSpend, sellerWorks: true, spent: SPENT, options: prepaid },
  metered: {
    ...call,
    buy: buyMetered,
    sellerWorks: true,
    gasWalletOnly: true,
    options: (site) => {
      const { routes: listed, ...others } = patient(site)
      const metered = listed.map(({ unitAmount: _, ...route }) => ({
        ...route,
        scheme: 'upto' as const,
        maxAmount: '$0.02',
      }))
      return { ...others, routes: metered }
    },
  },
  'three-at-once': { ...plan, buyers: 3, sellerWorks: true, options: jwt },
  'three-by-settler': {
    ...{ ...plan, buyers: 3, sellerWorks: true, gasWalletOnly: true },
    options: () => ({ ...jwt(), settlerContract: true }),
  },
}
