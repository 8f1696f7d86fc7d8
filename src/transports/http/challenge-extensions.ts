import type { Offer } from '../../engine/outcome.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { PAYMENT_IDENTIFIER } from '../../protocol/payment.ts'
import { isMetered } from '../../protocol/schemes-sold.ts'
import { accessSchemas } from './access-schemas.ts'
import { type BazaarExtension, bazaarOfPlan, bazaarOfRoute } from './bazaar.ts'
import { creditsOfPlan, creditsOfRoute } from './credit-extension.ts'
import { basePathOf } from './request-target.ts'

/**
 * What clients need to see before they name their payments. Its schema is in the body. Strict clients read no 402 with an
 * extension that lacks `info` or `schema`.
 */
const OFFER = { info: { required: false }, schema: {} } as const

const OFFER_WITH_SCHEMA = {
  ...OFFER,
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      required: { type: 'boolean' },
      id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
    },
    required: ['required'],
  },
} as const

/** Our own extension says all beside these two. */
const SVC = { info: {}, schema: {} } as const

/** An extension that differs from offer to offer: its member of the JSON object, `"name":{…}`; undefined where it has nothing to say. */
export type OfferExtension = (offer: Offer) => string | undefined

export interface ChallengeExtensions {
  /**
   * Of the header, already JSON and in ASCII: every client echoes it with its payment, so it stays small. `more`: a further
   * member.
   */
  headerJson(offer: Offer, more?: string): string
  /** Of the body, already JSON: the schemas and the promise of refunds as well. */
  bodyJson(offer: Pick<Offer, 'kind' | 'itemId'>): { json: string; isAscii: boolean }
}

/** Builds the extensions of every 402, once per plan and route. */
export function challengeExtensions(
  baseUrl: string,
  {
    embedded,
    discovery,
    perOffer,
  }: {
    embedded: boolean
    discovery: Pick<DiscoveryCatalog, 'plans' | 'routes' | 'refunds'>
    perOffer: readonly OfferExtension[]
  },
): ChallengeExtensions {
  const schemas = accessSchemas(baseUrl, discovery.refunds)
  const meteredSchemas = accessSchemas(baseUrl, discovery.refunds, 'upto')
  const kindOfRoutes = embedded ? 'embedded' : 'route'
  const place = { basePath: embedded ? '' : basePathOf(baseUrl), wrapped: !embedded }
  const plans = new Map(
    discovery.plans.map((plan) => [
      plan.planId,
      written({ ...schemas.plan, ...creditsOfPlan(baseUrl, discovery, plan) }, bazaarOfPlan(plan)),
    ]),
  )
  const routes = new Map(
    discovery.routes.map((route) => {
      const isRaw = route.raw === true && !embedded
      const bazaar = bazaarOfRoute(route, isRaw ? { ...place, wrapped: false } : place)
      const { [isRaw ? 'raw' : kindOfRoutes]: described } = isMetered(route) ? meteredSchemas : schemas
      const svc = { ...described, ...creditsOfRoute(baseUrl, discovery, route) }
      return [route.routeId, written(svc, bazaar)]
    }),
  )
  // Of what is sold no longer, while its open challenges are honoured.
  const [anyPlan, anyRoute] = [written(schemas.plan), written(schemas[kindOfRoutes])]
  const of = ({ kind, itemId }: Pick<Offer, 'kind' | 'itemId'>) =>
    kind === 'plan' ? (plans.get(itemId) ?? anyPlan) : (routes.get(itemId) ?? anyRoute)
  return {
    headerJson(offer, more) {
      let json = of(offer).inHeader
      for (const extension of perOffer) {
        const member = extension(offer)
        if (member !== undefined) json += `,${member}`
      }
      return more === undefined ? `${json}}` : `${json},${more}}`
    },
    bodyJson: (offer) => of(offer).inBody,
  }
}

/** The extensions of one item as JSON; those of the header without their last brace, and in ASCII. */
function written(
  svc: object,
  bazaar?: BazaarExtension,
): { inHeader: string; inBody: { json: string; isAscii: boolean } } {
  const shared = bazaar && { bazaar }
  const json = JSON.stringify({ [PAYMENT_IDENTIFIER]: OFFER_WITH_SCHEMA, ...shared, svc: { ...SVC, ...svc } })
  return {
    inHeader: escaped(JSON.stringify({ [PAYMENT_IDENTIFIER]: OFFER, ...shared })).slice(0, -1),
    inBody: { json, isAscii: Buffer.byteLength(json) === json.length },
  }
}

const escaped = (json: string): string =>
  json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
