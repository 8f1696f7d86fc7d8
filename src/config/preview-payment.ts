import { DEFAULT_RESOURCE_ID } from '../protocol/access.ts'
import type { PaymentRequired } from '../protocol/payment.ts'
import { buildCatalog } from '../rules/catalog.ts'
import { paymentRequired } from '../rules/requirements.ts'
import type { GatewayOptions } from './options.ts'
import { checkConfig } from './resolve-config.ts'

/** Good enough for the checks: nothing is ever opened or signed with them. */
const STAND_INS = {
  tokenSecret: 'a stand-in for a secret that is not set yet',
  gasWalletPrivateKey: `0x${'0'.repeat(63)}1`,
  store: { dataDir: '.' },
}

const ANEW = 'made-anew-for-each-request'

/**
 * The 402 that a buyer would get for the first thing that is sold, as soon as wallet, network and prices are right:
 * whatever else is missing does not show in it. Null while they are not.
 */
export function previewPayment(options: GatewayOptions): PaymentRequired | null {
  const { walletAddress, network, plans, routes, baseUrl } = options
  const { config } = checkConfig({
    walletAddress,
    ...(network !== undefined && { network }),
    ...(plans !== undefined && { plans }),
    ...(routes !== undefined && { routes }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...STAND_INS,
  })
  if (!config) return null
  const catalog = buildCatalog(config.plans, config.routes)
  const plan = config.plans[0]
  const route = [...catalog.routes.values()].find(({ free }) => !free)
  const sold = plan
    ? { kind: 'plan' as const, itemId: plan.planId, resource: null, item: catalog.plans.get(plan.planId) }
    : { kind: 'route' as const, itemId: route?.routeId ?? '', resource: route ?? null, item: route }
  if (!sold.item) return null
  const { kind, itemId, resource, item } = sold
  return paymentRequired(
    {
      key: `http-${ANEW}`,
      requestId: `req-${ANEW}`,
      kind,
      itemId,
      resourceId: DEFAULT_RESOURCE_ID,
      resource,
      amount: item.amount,
      asset: config.network.asset,
      payTo: config.walletAddress,
    },
    config,
    item.description,
    ANEW,
    'Payment required',
  )
}
