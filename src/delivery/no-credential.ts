import { GatewayError } from '../errors.ts'
import type { Delivery } from '../ports.ts'
import type { VerifyBearer } from './verify-bearer.ts'

/** The delivery of a gateway that sells only routes. */
export const noCredentials: Delivery = {
  instant: false,
  deliver: async () => ({ kind: 'failed', reason: 'this gateway has no credential step' }),
  open: async () => Promise.reject(new Error('this gateway has no credential step')),
  expiryOf: () => undefined,
}

/** The verifier of a gateway whose tokens are issued by the seller. */
export const refuseEveryBearer: VerifyBearer = async () => {
  const message = 'This gateway does not sign tokens itself; whoever issues them must check them.'
  return { ok: false, error: new GatewayError('UNAUTHORIZED', message) }
}
