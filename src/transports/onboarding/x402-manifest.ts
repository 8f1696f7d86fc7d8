import { dollarsToMicro } from '../../protocol/amount.ts'
import { MAX_TIMEOUT_SECONDS, SCHEME, UPFRONT, X402_VERSION } from '../../protocol/payment.ts'
import { PERMIT2_METHOD, UPTO_SCHEME } from '../../protocol/permit2.ts'
import { isMetered } from '../../protocol/schemes-sold.ts'
import { tokenUnits } from '../../rules/token-amount.ts'
import { bazaarOfPlan, bazaarOfRoute } from '../http/bazaar.ts'
import { type Offer, paidRoutes, payToOn, routeBase } from './offer.ts'

/**
 * `/.well-known/x402`. Crawlers read `version` and `resources`, the plain list of URLs that answer 402; `items` adds terms
 * and input per plan and route. Terms are advisory, and
 * of a dynamic price the most: those of the live 402 count.
 */
export function x402Manifest(offer: Offer): object {
  const { discovery, baseUrl, networks } = offer
  const { plans, agentName, description } = discovery
  const access = `${baseUrl}/x402/access`
  const routes = paidRoutes(offer)
  const base = routeBase(offer)
  const basePath = new URL(base).pathname.replace(/\/+$/, '')
  const accepts = (unitAmount: string, metered = false) =>
    networks.map(({ id, token }) => ({
      scheme: metered ? UPTO_SCHEME : SCHEME,
      network: id,
      asset: token.address,
      amount: tokenUnits(token, dollarsToMicro(unitAmount).toString()),
      payTo: payToOn(discovery, id),
      maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
      extra: {
        ...token.domain,
        ...(metered ? { assetTransferMethod: PERMIT2_METHOD } : { paymentFlow: UPFRONT }),
      },
    }))
  const resource = (url: string, text: string) => ({ url, description: text, mimeType: 'application/json' })
  return {
    version: 1,
    x402Version: X402_VERSION,
    name: agentName,
    description,
    resources: [...(plans.length > 0 ? [access] : []), ...new Set(routes.map(({ path }) => base + path))],
    instructions: `How to buy, with code: ${baseUrl}/skills.md`,
    openapi: `${baseUrl}/openapi.json`,
    items: [
      ...plans.map((plan) => ({
        resource: resource(access, plan.description ?? plan.planId),
        type: 'http',
        accepts: accepts(plan.unitAmount),
        ...bazaarOfPlan(plan).info,
      })),
      ...routes.map((route) => ({
        resource: resource(base + route.path, route.description ?? route.routeId),
        type: 'http',
        accepts: accepts(route.most, isMetered(route)),
        ...(route.maxAmount !== undefined && { maxAmount: route.maxAmount }),
        ...bazaarOfRoute(route, { basePath, wrapped: offer.servesRoutes && route.raw !== true }).info,
      })),
    ],
  }
}
