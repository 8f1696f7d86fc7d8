import { GatewayError } from '../errors.ts'
import type { Delivery } from '../ports.ts'
import type { VerifyBearer } from './verify-bearer.ts'

/** Of a gateway that sells routes only. */
export const noCredentials: Delivery = {
  instant: false,
  deliver: async () => ({ kind: 'failed', reason: 'this gateway has no credential step' }),
  open: async () => Promise.reject(new Error('this gateway has no credential step')),
}

/** Of a gateway whose tokens somebody else makes. */
export const refuseEveryBearer: VerifyBearer = async () => {
  const message = 'This gateway does not sign tokens itself; whoever issues them must check them.'
  return { ok: false, error: new GatewayError('UNAUTHORIZED', message) }
}
