import type { GatewayOptions } from '../../config/options.ts'
import { checkConfig } from '../../config/resolve-config.ts'
import { paymentRequired } from '../../dialects/x402/render-offer.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import { type PaymentRequired, SCHEME } from '../../protocol/payment.ts'
import { UPTO_SCHEME } from '../../protocol/permit2.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { railId } from '../../rules/rail-id.ts'
import { tokenUnits } from '../../rules/token-amount.ts'

/** Placeholders that pass the checks; nothing is ever opened or signed with them. */
const STAND_INS = {
  tokenSecret: 'a stand-in for a secret that is not set yet',
  gasWalletPrivateKey: `0x${'0'.repeat(63)}1`,
  store: { dataDir: '.' },
}

const ANEW = 'made-anew-for-each-request'

/**
 * The 402 that a buyer would get for the first plan or route, if wallet, network and prices are valid; null if they are
 * not. Other options may still be missing, since they do not appear in a 402.
 */
export function previewPayment(options: GatewayOptions): PaymentRequired | null {
  const { walletAddress, network, networks, customNetworks, plans, routes, baseUrl } = options
  const perNetwork = walletsOf(options)
  const named = { walletAddress, network, networks, customNetworks, perNetwork, plans, routes, baseUrl }
  const { config } = checkConfig({ ...named, ...STAND_INS })
  if (!config) return null
  const catalog = buildCatalog(config.plans, config.routes)
  const plan = config.plans[0]
  const route = [...catalog.routes.values()].find(({ free }) => !free)
  const sold = plan
    ? { kind: 'plan' as const, itemId: plan.planId, resource: null, item: catalog.plans.get(plan.planId) }
    : { kind: 'route' as const, itemId: route?.routeId ?? '', resource: route ?? null, item: route }
  if (!sold.item) return null
  const { kind, itemId, resource, item } = sold
  // The gas wallet that a metered offer names is left out: its key may not be known yet.
  const way = item.isMetered
    ? { scheme: UPTO_SCHEME, extra: { assetTransferMethod: 'permit2' } }
    : { scheme: SCHEME }
  return paymentRequired(
    {
      challengeId: `http-${ANEW}`,
      requestId: `req-${ANEW}`,
      kind,
      itemId,
      resourceId: DEFAULT_RESOURCE_ID,
      resource,
      description: item.description,
      rails: config.networks.map(({ network, walletAddress: payTo }) => {
        const amount = tokenUnits(network.token, item.amount)
        return { id: railId(network, way.scheme), network, ...way, amount, payTo }
      }),
      salt: ANEW,
      expiresAt: 0,
      message: 'Payment required',
    },
    config.baseUrl,
  )
}

/** Of what differs on single networks, only the wallets appear in a 402. */
function walletsOf({ perNetwork = {} }: GatewayOptions): GatewayOptions['perNetwork'] {
  const entries = Object.entries(perNetwork)
  return Object.fromEntries(entries.map(([chainId, { walletAddress }]) => [chainId, { walletAddress }]))
}
