import type { Offer } from '../../engine/outcome.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { PAYMENT_IDENTIFIER } from '../../protocol/payment.ts'
import { accessSchemas } from './access-schemas.ts'
import { bazaarOfPlan, bazaarOfRoute } from './bazaar.ts'
import { basePathOf } from './request-target.ts'

/** What clients need to see before they name their payments. Its schema is in the body. */
const OFFER = { info: { required: false } } as const

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

export interface ChallengeExtensions {
  /** Of the header: every client echoes it with its payment, so it stays small. */
  header: { [PAYMENT_IDENTIFIER]: object }
  /** Of the body, already JSON: the catalogs' metadata and the schemas as well. */
  bodyJson(offer: Pick<Offer, 'kind' | 'itemId'>): { json: string; isAscii: boolean }
}

/** Builds the extensions of every 402, once per plan and route. */
export function challengeExtensions(
  baseUrl: string,
  { embedded, discovery }: { embedded: boolean; discovery: Pick<DiscoveryCatalog, 'plans' | 'routes'> },
): ChallengeExtensions {
  const schemas = accessSchemas(baseUrl)
  const ofRoutes = embedded ? schemas.embedded : schemas.route
  const place = { basePath: embedded ? '' : basePathOf(baseUrl), wrapped: !embedded }
  const written = (svc: object, bazaar?: object) => {
    const json = JSON.stringify({ [PAYMENT_IDENTIFIER]: OFFER_WITH_SCHEMA, ...(bazaar && { bazaar }), svc })
    return { json, isAscii: Buffer.byteLength(json) === json.length }
  }
  const plans = new Map(
    discovery.plans.map((plan) => [plan.planId, written(schemas.plan, bazaarOfPlan(plan))]),
  )
  const routes = new Map(
    discovery.routes.map((route) => {
      const isRaw = route.raw === true && !embedded
      const bazaar = bazaarOfRoute(route, isRaw ? { ...place, wrapped: false } : place)
      return [route.routeId, written(isRaw ? schemas.raw : ofRoutes, bazaar)]
    }),
  )
  // Of what is sold no longer, while its open challenges are honoured.
  const [anyPlan, anyRoute] = [written(schemas.plan), written(ofRoutes)]
  return {
    header: { [PAYMENT_IDENTIFIER]: OFFER },
    bodyJson: ({ kind, itemId }) =>
      kind === 'plan' ? (plans.get(itemId) ?? anyPlan) : (routes.get(itemId) ?? anyRoute),
  }
}
