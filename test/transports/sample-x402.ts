import type { ChainClient } from '../../src/chain/chain-client.ts'
import { createX402, type X402 } from '../../src/dialects/x402/create-x402.ts'
import type { ReadableRail } from '../../src/dialects/x402/read-payment.ts'
import type { Offer, OfferedRail } from '../../src/engine/outcome.ts'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { Address } from '../../src/protocol/hex.ts'
import { NETWORKS } from '../../src/protocol/network.ts'
import { createExactScheme } from '../../src/schemes/exact/create-exact-scheme.ts'

const network = NETWORKS[1]!

/** USDC on the test network by scheme `exact`; it reads payments, and no chain is behind it. */
export const sampleRail: ReadableRail = {
  id: `${network.id}/exact`,
  network,
  scheme: createExactScheme({ network } as ChainClient, {
    check: async () => {
      throw new Error('no chain is behind the sample rail')
    },
  }),
}

/** This rail as an offer names it. */
export const offeredOn = (
  { id, network, scheme }: ReadableRail,
  amount: string,
  payTo: Address,
): OfferedRail => ({
  id,
  network,
  scheme: scheme.name,
  amount,
  payTo,
})

export const sampleX402 = (baseUrl: string): X402 => createX402([sampleRail], baseUrl)

/** The offer of a plan, with what the test is about. */
export function sampleOffer(changes: Partial<Offer> = {}): Offer {
  return {
    challengeId: 'http-1',
    requestId: 'r-1',
    kind: 'plan',
    itemId: 'basic',
    resourceId: 'default',
    resource: null,
    description: 'Caffè, 1 €',
    rails: [offeredOn(sampleRail, '1000000', `0x${'22'.repeat(20)}`)],
    salt: 's',
    message: 'Payment required',
    ...changes,
  }
}

/** A payment as a buyer may send it: well formed, and signed by nobody. */
export const samplePayload = {
  x402Version: 2,
  payload: {
    signature: `0x${'AB'.repeat(65)}`,
    authorization: {
      from: `0x${'11'.repeat(20)}`,
      to: `0x${'22'.repeat(20)}`,
      value: '1000000',
      validAfter: '0',
      validBefore: '1900000000',
      nonce: `0x${'CD'.repeat(32)}`,
    },
  },
}

/** The `payment-signature` header of that payment; `accepted` are the terms that it repeats. */
export function samplePaymentHeader(accepted?: object): string {
  return encodeJson({ ...samplePayload, ...(accepted && { accepted }) })
}
