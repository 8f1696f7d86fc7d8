import { counted, sellsCredits } from './credit-words.ts'
import type { Offer } from './offer.ts'
import { failures, json, type Operation, type Paths, schemaRef, WITH_TOKEN } from './openapi-operations.ts'

/**
 * What the seller says of a route, and how it is prepaid. That is no `security` of the operation: directories take a scheme
 * there for a credential that is asked for beside the payment.
 */
export function prepaidDescription(description: string | undefined, credits: number): string {
  const how = `A call costs ${counted(credits)} instead with Authorization: Bearer and the accessToken of a plan that grants credits.`
  return [...(description ? [description] : []), how].join('\n\n')
}

/** Of the answer to a prepaid call. */
export const DEBIT = {
  'x-svc-credits-charged': {
    description: 'to those who called with a token: the credits that this call cost',
    schema: { type: 'integer' },
  },
  'x-svc-credits-remaining': {
    description: 'the credits that are left',
    schema: { type: 'integer' },
  },
}

export function creditPaths(offer: Offer): Paths {
  if (!sellsCredits(offer)) return {}
  return {
    '/x402/credits': {
      get: {
        operationId: 'credits',
        summary: 'What is left of the credits that a plan granted',
        description: 'With the token of the plan, or a wallet that signs in.',
        security: WITH_TOKEN,
        responses: {
          '200': json('the account', schemaRef('CreditBalance')),
          ...failures(401, 404, 429, 503),
        },
      } satisfies Operation,
    },
  }
}

const count = { type: 'integer', minimum: 0 } as const
const text = { type: 'string' } as const
const time = { ...text, format: 'date-time' } as const

function object(properties: Record<string, object>): object {
  return { type: 'object', properties, required: Object.keys(properties) }
}

export function creditSchemas(offer: Offer): Record<string, object> {
  if (!sellsCredits(offer)) return {}
  const lot = object({ challengeId: text, granted: count, spent: count, remaining: count, expiresAt: time })
  return {
    CreditBalance: object({
      planId: text,
      resourceId: text,
      granted: count,
      spent: count,
      reserved: { ...count, description: 'by calls under way' },
      remaining: count,
      expiresAt: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'of the last; null: there are none',
      },
      lots: { type: 'array', description: 'each purchase, in the order in which they are spent', items: lot },
    }),
  }
}
