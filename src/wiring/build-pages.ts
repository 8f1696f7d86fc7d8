import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { PaymentPage } from '../transports/people/payment-page.ts'
import type { ShopWindow } from '../transports/people/shop-window.ts'

/** The pages for people, if they are switched on; otherwise their modules are not loaded. */
export async function buildPages(
  config: ResolvedConfig,
  parts: { discovery: DiscoveryCatalog; servesRoutes: boolean; jwks: boolean },
): Promise<{ shopWindow?: ShopWindow; paymentPage?: PaymentPage }> {
  const seller = config.shopWindow
  if (!seller) return {}
  const networks = config.networks.map(({ network }) => network)
  const [{ createShopWindow }, { createPaymentPage }, { readPayBundle }] = await Promise.all([
    import('../transports/people/shop-window.ts'),
    import('../transports/people/payment-page.ts'),
    import('../transports/people/read-bundle.ts'),
  ])
  const { baseUrl, resourceEndpoint, agentVersion, provider, contactEmail, documents } = config
  const bundle = readPayBundle()
  const shopWindow = createShopWindow({
    sellsPlansByHand: bundle !== undefined,
    ...{ baseUrl, resourceEndpoint, agentVersion, provider, contactEmail, documents },
    ...parts,
    networks,
    a2a: config.a2a !== null,
    mcp: config.mcp !== null,
    seller,
  })
  if (bundle === undefined) return { shopWindow }
  // Where routes are embedded, the base path is the seller's own, and what it shows there is not known.
  const shopUrl = parts.servesRoutes ? `${baseUrl}/` : undefined
  const paymentPage = createPaymentPage({
    ...{ seller, networks, refunds: parts.discovery.refunds, shopUrl, bundle },
  })
  return { shopWindow, paymentPage }
}
