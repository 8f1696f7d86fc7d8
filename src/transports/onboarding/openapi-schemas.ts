import { z } from 'zod'
import { AccessRequestSchema, CHALLENGE_STATES, type ChallengeStatus } from '../../protocol/access.ts'
import {
  DiscoveredRouteSchema,
  type DiscoveryCatalog,
  PlanSchema,
  type RefundTerms,
  type SoldOnNetwork,
} from '../../protocol/catalog.ts'
import type { ErrorBody } from '../../protocol/error-codes.ts'
import { accessSchemas } from '../http/access-schemas.ts'
import { computesPrices, sellsCredits } from './credit-words.ts'
import { errorCodesOf } from './error-codes-of.ts'
import type { Offer } from './offer.ts'
import { paymentSchemas } from './openapi-payment.ts'

type Properties<T> = Record<keyof T, object>

const text = { type: 'string' } as const
const url = { ...text, format: 'uri' } as const
const hash = { ...text, description: 'transaction hash' } as const

// Keyed by the interfaces, so that a field added there cannot be forgotten here.
const STATUS: Properties<ChallengeStatus> = {
  challengeId: text,
  requestId: text,
  state: { ...text, enum: [...CHALLENGE_STATES] },
  txHash: hash,
  refundTxHash: hash,
  expiresAt: { ...text, format: 'date-time' },
  receipt: { ...text, description: 'signed receipt of the delivery (JWS)' },
  refundReceipt: { ...text, description: 'signed receipt of the refund (JWS)' },
  receiptUrl: { ...url, description: 'the purchase as a page for people' },
}

const ERROR: Properties<ErrorBody> = {
  type: { const: 'Error' },
  code: text,
  message: text,
  httpStatus: { type: 'integer' },
  retryable: { type: 'boolean', description: 'sending the very same request again can succeed' },
  retryAfterSeconds: { type: 'number' },
  hint: text,
  statusUrl: url,
  txHash: hash,
  refund: {
    type: 'object',
    properties: {
      state: text,
      txHash: hash,
      when: { ...text, format: 'date-time', description: 'not before then, and once the block is final' },
    },
    required: ['state'],
  },
  topUp: {
    type: 'object',
    description: 'the plan that fills an exhausted account again',
    properties: {
      planId: text,
      credits: { type: 'integer' },
      amount: { ...text, description: 'micro-dollars' },
    },
    required: ['planId', 'credits', 'amount'],
  },
}

const SOLD_ON: Properties<SoldOnNetwork> = {
  network: { ...text, description: 'CAIP-2' },
  name: text,
  chainId: { type: 'integer' },
  asset: { ...text, description: 'the token contract' },
  walletAddress: { ...text, description: 'receives the payments on this network' },
  available: { type: 'boolean', description: 'false: left out of new offers for now' },
  reason: text,
  minUnitAmount: { ...text, description: 'what costs less is not sold on it now' },
}

const REFUNDS: Properties<RefundTerms> = {
  policy: { ...text, enum: ['automatic', 'manual'] },
  description: text,
  automaticOn: {
    type: 'array',
    items: text,
    description: 'CAIP-2: where they are automatic, if elsewhere they are not',
  },
  callsAfterSeconds: { type: 'integer', description: 'after the payment of a call, at the earliest' },
  statusUrl: { ...text, description: 'with {challengeId}: how a purchase and its refund stand' },
}

const notOn = {
  type: 'array',
  items: text,
  description: 'the networks that its price is too low for now, because of their gas',
} as const

const CATALOG: Properties<Omit<DiscoveryCatalog, 'networks'>> = {
  agentName: text,
  description: text,
  walletAddress: { ...text, description: 'receives the USDC' },
  network: { ...text, description: 'CAIP-2' },
  chainId: { type: 'integer' },
  asset: { ...text, description: 'the USDC contract' },
  plans: { type: 'array', items: {} },
  routes: { type: 'array', items: {} },
  refunds: {
    type: 'object',
    description: 'what becomes of a payment for something that is not delivered',
    properties: REFUNDS,
    required: ['policy', 'description', 'statusUrl'],
  },
}

/** The catalog of a seller on several networks. */
const CATALOG_OF_SEVERAL = {
  ...CATALOG,
  networks: {
    type: 'array',
    description: 'every network that is sold on; network, chainId and asset name the preferred one',
    items: { type: 'object', properties: SOLD_ON },
  },
}

/** `components.schemas`. */
export function openApiSchemas(offer: Offer): Record<string, object> {
  const { baseUrl, networks } = offer
  const several = networks.length > 1
  const items = (schema: z.ZodType) => ({ type: 'array', items: itemSchema(schema, offer, several) })
  const catalog = {
    ...(several ? CATALOG_OF_SEVERAL : CATALOG),
    plans: items(PlanSchema),
    routes: items(DiscoveredRouteSchema),
  }
  const { plan, route } = accessSchemas(baseUrl)
  return {
    AccessRequest: wire(AccessRequestSchema),
    AccessGrant: plan.outputSchema,
    ResourceResponse: route.outputSchema,
    ...paymentSchemas(offer),
    ChallengeStatus: object(STATUS, ['challengeId', 'state', 'expiresAt']),
    Catalog: object(
      catalog,
      Object.keys(catalog).filter((name) => name !== 'refunds'),
    ),
    Error: object(errorProperties(offer), ['type', 'code', 'message', 'httpStatus']),
  }
}

function object(properties: Record<string, object>, required: string[]): object {
  return { type: 'object', properties, required }
}

/** Of a plan or route, with the members that this seller uses. */
function itemSchema(schema: z.ZodType, offer: Offer, several: boolean): object {
  const { properties, ...rest } = wire(schema) as { properties: Record<string, object> }
  const { credits, maxAmount, ...usual } = properties
  return {
    ...rest,
    properties: {
      ...usual,
      ...(credits && sellsCredits(offer) && { credits }),
      ...(maxAmount && computesPrices(offer) && { maxAmount }),
      ...(several && { notOn }),
    },
  }
}

function errorProperties(offer: Offer): Record<string, object> {
  const { topUp, ...usual } = ERROR
  const code = { ...text, enum: errorCodesOf(offer) }
  return { ...usual, code, ...(sellsCredits(offer) && { topUp }) }
}

function wire(schema: z.ZodType): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return rest
}
