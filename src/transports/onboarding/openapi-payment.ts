import { z } from 'zod'
import { ExactPayloadSchema } from '../../protocol/authorization.ts'
import {
  PaymentEnvelopeSchema,
  type PaymentRequired,
  type PaymentRequirements,
} from '../../protocol/payment.ts'
import { UptoPayloadSchema } from '../../protocol/permit2.ts'
import { schemesSold } from '../../protocol/schemes-sold.ts'
import type { Offer } from './offer.ts'

const text = { type: 'string' } as const

type Schemes = ReturnType<typeof schemesSold>

/** The 402 and the payment that answers it, by the schemes that are sold. */
export function paymentSchemas({ discovery }: Offer): Record<'PaymentRequired' | 'PaymentPayload', object> {
  const schemes = schemesSold(discovery)
  return { PaymentRequired: requiredSchema(schemes), PaymentPayload: payloadSchema(schemes) }
}

function requiredSchema(schemes: Schemes): object {
  // Keyed by the interfaces, so that a field added there cannot be forgotten here.
  const properties: Record<keyof PaymentRequired | 'extensions', object> = {
    x402Version: { const: 2 },
    error: text,
    resource: {
      type: 'object',
      properties: {
        url: { ...text, format: 'uri' },
        ...{ method: text, description: text, mimeType: text },
      },
      required: ['url'],
    },
    accepts: {
      type: 'array',
      description: 'echo the chosen element unchanged as accepted',
      items: termsSchema(schemes),
    },
    challengeId: text,
    requestId: text,
    extensions: {
      type: 'object',
      description: 'svc: schemas of request and answer, refunds; bazaar; payment-identifier',
    },
  }
  const required = ['x402Version', 'resource', 'accepts', 'challengeId', 'requestId']
  return { type: 'object', properties, required }
}

function termsSchema(schemes: Schemes): object {
  const isMetered = schemes.includes('upto')
  const flows = [
    schemes.includes('exact') && 'paymentFlow: upfront, because the payment is settled before it is answered',
    isMetered &&
      'by scheme upto assetTransferMethod: permit2 and facilitatorAddress, the wallet that may charge it',
  ].filter((flow) => flow !== false)
  const properties: Record<keyof PaymentRequirements, object> = {
    scheme: schemes.length > 1 ? { enum: schemes } : { const: schemes[0] },
    network: { ...text, description: 'CAIP-2' },
    asset: text,
    amount: {
      ...text,
      description: `micro-USDC${isMetered ? '; by scheme upto the most that is charged' : ''}`,
    },
    payTo: text,
    maxTimeoutSeconds: { type: 'integer' },
    extra: {
      type: 'object',
      description: `EIP-712 name and version of the token, ids, a salt, and ${flows.join('; ')}`,
    },
  }
  return { type: 'object', properties, required: Object.keys(properties) }
}

function payloadSchema(schemes: Schemes): object {
  const payloads = schemes.map((scheme) => (scheme === 'upto' ? UptoPayloadSchema : ExactPayloadSchema))
  const payload = payloads.length > 1 ? z.union(payloads) : payloads[0]!
  const { $schema: _dialect, ...rest } = z.toJSONSchema(PaymentEnvelopeSchema.extend({ payload }), {
    io: 'input',
  })
  return rest
}
