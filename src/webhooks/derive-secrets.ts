import { createHmac } from 'node:crypto'
import { secretOf } from './sign-webhook.ts'

/**
 * The secrets of an endpoint for which none is given: the same on every instance, and after a lost store. While the
 * gateway's secret key is replaced there is one of each key.
 */
export function deriveSecrets(url: string, keys: readonly Uint8Array[]): string[] {
  return keys.map((key) => secretOf(createHmac('sha256', key).update(url).digest()))
}
