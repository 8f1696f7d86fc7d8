import { z } from 'zod'
import {
  type AccessGrant,
  AccessRequestSchema,
  DEFAULT_RESOURCE_ID,
  type ResourceResponse,
} from '../../protocol/access.ts'
import { IdString, type RefundTerms } from '../../protocol/catalog.ts'
import { meteredRefunds } from '../../protocol/schemes-sold.ts'

/** `extensions.svc` of a 402: how to ask, and what the payment buys. */
export interface SvcExtension {
  inputSchema: object
  outputSchema: object
  description: string
  /** What becomes of a payment for something that is not delivered. */
  refunds?: RefundTerms
}

const text = { type: 'string' } as const

// Keyed by the interfaces, so that a field added there cannot be forgotten here.
const GRANT_PROPERTIES: Record<keyof AccessGrant, object> = {
  type: { const: 'AccessGrant' },
  challengeId: text,
  requestId: text,
  accessToken: { ...text, description: 'credential, normally a JWT; send it as Authorization: Bearer' },
  tokenType: { const: 'Bearer' },
  resourceEndpoint: { ...text, format: 'uri' },
  resourceId: text,
  planId: text,
  txHash: text,
  explorerUrl: { ...text, format: 'uri' },
  expiresAt: { ...text, format: 'date-time' },
}

const RESPONSE_PROPERTIES: Record<keyof ResourceResponse, object> = {
  type: { const: 'ResourceResponse' },
  challengeId: text,
  requestId: text,
  routeId: text,
  txHash: text,
  explorerUrl: { ...text, format: 'uri' },
  resource: {
    type: 'object',
    properties: {
      status: { type: 'integer' },
      body: {},
      contentType: text,
      encoding: { const: 'base64' },
      text: {
        ...text,
        description: 'the JSON as it was answered, if body has a number that JavaScript does not hold',
      },
    },
    required: ['status', 'body'],
  },
  refund: {
    type: 'object',
    description:
      'only when the call was not delivered: its payment goes back automatically, unless the same payload, sent again, is delivered first',
    properties: {
      state: { const: 'SCHEDULED' },
      when: { ...text, format: 'date-time', description: 'not before then, and once the block is final' },
    },
    required: ['state', 'when'],
  },
  statusUrl: { ...text, format: 'uri', description: 'how the refund stands' },
}

const shared = { requestId: true, challengeId: true, clientAgentId: true } as const

/** What a seller's own handler answers is not ours to describe, only that nothing is put around it. */
const OWN_ANSWER = { description: "The seller's own answer as it is, in no ResourceResponse." }

const HOW_TO_SIGN = {
  exact: {
    sign: 'Sign the EIP-3009 authorization that accepts[0] asks for',
    payload: '{signature, authorization}',
  },
  upto: {
    sign: 'Sign the Permit2 authorization that accepts[0] asks for (scheme upto: amount is the most that the call may cost)',
    payload: '{signature, permit2Authorization}',
  },
} as const

/** Builds the extensions of every 402 by one scheme, once. */
export function accessSchemas(
  baseUrl: string,
  refunds?: RefundTerms,
  scheme: keyof typeof HOW_TO_SIGN = 'exact',
): Record<'plan' | 'route' | 'raw' | 'embedded', SvcExtension> {
  const planInput = AccessRequestSchema.pick({ planId: true, ...shared })
    .extend({ resourceId: IdString.default(DEFAULT_RESOURCE_ID) })
    .required({ planId: true })
  const routeInput = AccessRequestSchema.pick({ routeId: true, resource: true, ...shared }).required({
    routeId: true,
    resource: true,
  })
  const { sign, payload } = HOW_TO_SIGN[scheme]
  const how = (where: string) =>
    `${sign} and send ${where} again with header payment-signature: base64 of {x402Version, payload ${payload}, accepted}.`
  const post = `POST ${baseUrl}/x402/access`
  const catalog = `GET ${baseUrl}/discover`
  const promised = refunds && { refunds: scheme === 'upto' ? meteredRefunds(refunds) : refunds }
  const { refund, ...response } = RESPONSE_PROPERTIES
  const answer = outputSchema(scheme === 'upto' ? response : { ...response, refund }, ['refund', 'statusUrl'])
  return {
    plan: {
      inputSchema: inputSchema(planInput),
      outputSchema: outputSchema(GRANT_PROPERTIES, ['expiresAt']),
      description: `${how(`the same ${post}`)} The answer is an AccessGrant. Prices and plans: ${catalog}.`,
      ...promised,
    },
    route: {
      inputSchema: inputSchema(routeInput),
      outputSchema: answer,
      description: `${how(`the same request (the call itself, or ${post})`)} The answer is a ResourceResponse. Prices and routes: ${catalog}.`,
      ...promised,
    },
    raw: {
      inputSchema: inputSchema(routeInput),
      outputSchema: {
        ...answer,
        description: `Of ${post}. The call itself is answered as its backend does.`,
      },
      description: `${how(`the same request (the call itself, or ${post})`)} The answer to the call itself is the backend's own, status and headers included; that of ${post} is a ResourceResponse. Prices and routes: ${catalog}.`,
      ...promised,
    },
    embedded: {
      inputSchema: {
        ...inputSchema(routeInput),
        description: 'The call itself: resource is the method and the path with query of this very request.',
      },
      outputSchema: OWN_ANSWER,
      description: `${how('the same request')} The answer is the seller's own. Prices and routes: ${catalog}.`,
      ...promised,
    },
  }
}

function inputSchema(schema: z.ZodType): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return rest
}

function outputSchema(properties: Record<string, object>, optional: string[]): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required }
}
