import type { Offer, Payment } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import { decodedBytes, decodeJsonObject } from '../../protocol/base64.ts'
import { MAX_PAYMENT_BYTES } from '../x402/create-x402.ts'
import type { ReadableRail } from '../x402/read-payment.ts'
import { MalformedCredential } from './malformed-credential.ts'
import { createCredentialReader } from './read-credential.ts'
import type { Spoken } from './spoken.ts'
import { type ChallengeJson, createChallengeWriter } from './write-challenges.ts'

/** MPP, the `Payment` scheme of HTTP authentication: how its buyers are told what to pay, and how they pay. */
export interface Mpp {
  /** A credential as JSON, as MCP carries it. */
  readCredential(value: unknown): Payment | GatewayError
  /** From a header: `Payment <base64url>`. Its content never enters a message: it is as good as money. */
  readHeader(header: string): Payment | GatewayError
  /**
   * The value of `WWW-Authenticate`, for readers of x402 and of MPP; with more than one rail, those that fit into `room`
   * characters. Undefined where the client wants none of them.
   */
  authenticate(offer: Offer, spoken: Spoken, room?: number): string | undefined
  /** The same challenges as JSON. */
  challenges(offer: Offer): ChallengeJson[]
}

/** `realm` is the gateway's base URL. */
export function createMpp(rails: readonly ReadableRail[], realm: string, now: () => number): Mpp {
  const readCredential = createCredentialReader(rails, realm, now)
  const { header, json } = createChallengeWriter(realm, now)
  return {
    readCredential,
    readHeader(value) {
      const text = /^payment\s+([^\s,]+)\s*$/i.exec(value)?.[1]
      if (text === undefined) return refuse('is not one "Payment <base64url>"')
      const bytes = decodedBytes(text)
      if (bytes > MAX_PAYMENT_BYTES)
        return refuse(`decodes to ${bytes} bytes; at most ${MAX_PAYMENT_BYTES} are read`)
      const decoded = decodeJsonObject(text)
      return decoded ? readCredential(decoded) : refuse('is not the base64url encoding of a JSON object')
    },
    authenticate: header,
    challenges: json,
  }
}

function refuse(fault: string): GatewayError {
  return new MalformedCredential(`the Payment credential ${fault}`)
}
