import { z } from 'zod'
import { PriceString, priceFault } from './amount.ts'
import { ChargeRule } from './charge-rule.ts'
import type { PriceOfCall } from './computed-price.ts'
import { UPTO_SCHEME } from './permit2.ts'
import { StreamRule, streamFaults } from './stream-rule.ts'

/**
 * Ids that are used in URLs, headers and keys: requestId, planId, routeId, resourceId. Dots alone are not ids: in a
 * URL they would change the path.
 */
export const IdString = z
  .string()
  .regex(/^(?!\.+$)[A-Za-z0-9._:-]{1,128}$/, 'must be 1 to 128 characters of A-Z a-z 0-9 . _ : -')

const CREDITS_RULE = 'must be a whole number from 1 to 1000000000'
const Credits = z.number(CREDITS_RULE).int(CREDITS_RULE).min(1, CREDITS_RULE).max(1_000_000_000, CREDITS_RULE)

export const PlanSchema = z.strictObject({
  planId: IdString,
  unitAmount: PriceString,
  description: z.string().max(1024).optional(),
  /** Lifetime of the credential, when it differs from the gateway's. */
  tokenTtlSeconds: z.number().int().positive().optional(),
  /** Calls of routes that its token may make without a further payment; each costs the route's `credits`. */
  credits: Credits.optional(),
})
/**
 * What is sold as a subscription: one payment, then a token that opens its resource for a while.
 *
 * @example
 * const hourly: Plan = { planId: 'hourly', unitAmount: '$0.25', tokenTtlSeconds: 3600 }
 */
export type Plan = z.infer<typeof PlanSchema>

export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const

/** A route as buyers see it. */
export const DiscoveredRouteSchema = z.strictObject({
  routeId: IdString,
  method: z
    .string()
    .transform((method) => method.toUpperCase())
    .pipe(z.enum(HTTP_METHODS)),
  path: z.string().startsWith('/', 'must start with "/"'),
  unitAmount: PriceString.optional(),
  /** The price differs from call to call and is never more than this. The 402 tells it, or with scheme `upto` the call. */
  maxAmount: PriceString.optional(),
  /** `upto`: metered. The buyer signs `maxAmount`, and is charged what the call says afterwards. */
  scheme: z.literal(UPTO_SCHEME, { error: 'must be "upto", or left out for a fixed price' }).optional(),
  free: z.boolean().optional(),
  /** The backend's own answer is sent, not wrapped in a ResourceResponse. */
  raw: z.boolean().optional(),
  /** What a call costs the holder of a plan with credits, instead of `unitAmount`. */
  credits: Credits.optional(),
  description: z.string().max(1024).optional(),
})

const SCHEMA_RULE = 'must be a JSON Schema, an object of at most 32768 bytes'
/** Told in openapi.json and to MCP clients; nothing is checked against it. */
const JsonSchema = z
  .record(z.string(), z.unknown(), SCHEMA_RULE)
  .refine((schema) => JSON.stringify(schema).length <= 32_768, SCHEMA_RULE)

const NO_FUNCTION =
  'must be a function, for example (status) => status < 500; JSON cannot hold one, so leave it out there'

/** A price, or the function that says it. */
const RoutePrice = z
  .custom<string | PriceOfCall>((value) => value !== undefined)
  .superRefine((price, context) => {
    if (typeof price === 'function') return
    const fault = typeof price === 'string' ? priceFault(price) : undefined
    if (fault) context.addIssue({ code: 'custom', message: fault })
    if (typeof price !== 'string') context.addIssue({ code: 'invalid_type', expected: 'string' })
  })

export const RouteSchema = DiscoveredRouteSchema.extend({
  /** In JSON always a price. A function is asked for every offer, and needs `maxAmount`. */
  unitAmount: RoutePrice.optional(),
  /** Asked what each call costs, instead of `unitAmount`; needs `maxAmount`. */
  priceFrom: z.string().optional(),
  /** Metered routes: how the charge follows from the answer. Without it the backend says it by `Settlement-Overrides`. */
  charge: ChargeRule.optional(),
  /** Metered routes: what is charged if the answer does not say. Default: `maximum`. */
  chargeIfUnstated: z.enum(['maximum', 'nothing'], { error: 'must be "maximum" or "nothing"' }).optional(),
  /** Metered routes: answers that are event streams go out as they come, within these limits. */
  stream: StreamRule.optional(),
  /** What a call takes, as JSON Schema of an object with `path`, `query`, `headers` and `body`, each optional. */
  inputSchema: JsonSchema.optional(),
  /** What the backend answers to a call. */
  outputSchema: JsonSchema.optional(),
  /**
   * Embedded routes: which answers of the handler count as delivered. The payment of any other is refunded. Default:
   * 2xx.
   */
  delivered: z
    .custom<(status: number) => boolean>((value) => typeof value === 'function', NO_FUNCTION)
    .optional(),
}).superRefine((route, context) => {
  const refuse = (message: string) => context.addIssue({ code: 'custom', message })
  const { free, unitAmount, priceFrom, maxAmount } = route
  const isMetered = route.scheme === UPTO_SCHEME
  if (isMetered) {
    refuseUnmetered(route, refuse)
    for (const fault of streamFaults(route)) refuse(fault)
    return
  }
  if (route.stream)
    refuse(
      'has stream, but only metered answers are streamed; say scheme: "upto" with a maxAmount, or take it out',
    )
  if (route.charge || route.chargeIfUnstated)
    refuse('has a charge, but its price is fixed; say scheme: "upto" with a maxAmount, or take it out')
  const isComputed = typeof unitAmount === 'function' || priceFrom !== undefined
  // A forgotten price must never make a route free.
  if (free && unitAmount !== undefined) refuse('has both free: true and a unitAmount; keep one')
  if (free && priceFrom !== undefined) refuse('has both free: true and priceFrom; keep one')
  if (unitAmount !== undefined && priceFrom !== undefined)
    refuse('has both unitAmount and priceFrom; keep one')
  if (!free && unitAmount === undefined && priceFrom === undefined) {
    refuse(
      maxAmount === undefined
        ? 'has no unitAmount; give a price such as "$0.01" or say free: true'
        : 'has no priceFrom for its maxAmount; say where the price is asked, for example priceFrom: "http://localhost:8080/price"',
    )
  } else if (isComputed && maxAmount === undefined) {
    refuse(
      'has no maxAmount for its computed price; say the most that a call costs, for example maxAmount: "$1.00"',
    )
  } else if (maxAmount !== undefined && !isComputed && (free || typeof unitAmount === 'string')) {
    refuse('has a maxAmount, but its price is not computed; take maxAmount out')
  }
  if (route.free && route.credits !== undefined) refuse('has both free: true and credits; keep one')
  if (route.free && route.delivered) refuse('has both free: true and delivered; what is free is not refunded')
})
/** A metered route has one price, its maximum, and nothing that belongs to other ways of selling. */
function refuseUnmetered(route: Readonly<Record<string, unknown>>, refuse: (message: string) => void): void {
  if (route.maxAmount === undefined)
    refuse(
      'has scheme "upto" without a maxAmount; say the most that a call costs, for example maxAmount: "$0.02"',
    )
  for (const other of ['unitAmount', 'priceFrom', 'free', 'credits', 'delivered']) {
    if (route[other] !== undefined && route[other] !== false)
      refuse(`has both scheme "upto" and ${other}; what a metered call costs is its charge, up to maxAmount`)
  }
}

/**
 * What is sold by the call: one payment, one answer.
 *
 * @example
 * const weather: Route = { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' }
 */
export type Route = z.infer<typeof RouteSchema>

/** A network on which a gateway is paid. */
export interface SoldOnNetwork {
  network: string
  name: string
  chainId: number
  asset: string
  walletAddress: string
  /** False: left out of new offers for now. */
  available?: boolean
  /** Why it is not available. */
  reason?: string
  /** What costs less is not sold on it now: its gas would eat up the price. Absent: everything is. */
  minUnitAmount?: string
}

/** Of what is not sold on every network: the networks, by their CAIP-2 ids, that its price is too low for now. */
interface NotSoldOn {
  notOn?: string[]
}

/** What becomes of a payment for something that is not delivered. */
export interface RefundTerms {
  /** `manual`: by the seller's hand. */
  policy: 'automatic' | 'manual'
  /** The same in words. */
  description: string
  /** CAIP-2: the networks on which refunds are automatic, if on others they are not. */
  automaticOn?: string[]
  /** When the refund of a call is sent at the earliest, in seconds after the payment. That of a plan waits for no time. */
  callsAfterSeconds?: number
  /** Tells how a purchase and its refund stand. */
  statusUrl: string
}

/** `GET /discover`. */
export interface DiscoveryCatalog {
  agentName: string
  description: string
  walletAddress: string
  network: string
  chainId: number
  asset: string
  /** Every network that is sold on, if there are several. The fields above name the preferred one. */
  networks?: SoldOnNetwork[]
  plans: Array<Pick<Plan, 'planId' | 'unitAmount' | 'credits' | 'description'> & NotSoldOn>
  routes: Array<
    Pick<
      z.infer<typeof DiscoveredRouteSchema>,
      | 'routeId'
      | 'method'
      | 'path'
      | 'unitAmount'
      | 'maxAmount'
      | 'scheme'
      | 'free'
      | 'raw'
      | 'credits'
      | 'description'
    > &
      NotSoldOn
  >
  refunds?: RefundTerms
}
