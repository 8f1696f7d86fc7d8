import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'
const LEAST_BYTES = 24
const MOST_BYTES = 64

/** Why this is not a secret of Standard Webhooks; undefined if it is one. Never repeats it. */
export function secretFault(text: string): string | undefined {
  if (!text.startsWith(PREFIX)) return `does not begin with ${PREFIX}`
  const encoded = text.slice(PREFIX.length)
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return `is not base64 after ${PREFIX}`
  const { length } = Buffer.from(encoded, 'base64')
  if (length >= LEAST_BYTES && length <= MOST_BYTES) return undefined
  return `has ${length} bytes after ${PREFIX}; a secret has ${LEAST_BYTES} to ${MOST_BYTES}`
}

export const secretOf = (bytes: Uint8Array): string => `${PREFIX}${Buffer.from(bytes).toString('base64')}`

/**
 * The headers of a Standard Webhook (https://www.standardwebhooks.com). With several secrets, as while one is replaced,
 * there is a signature of each, and a receiver that knows one of them is content.
 */
export function webhookHeaders(
  secrets: readonly string[],
  { id, body, at }: { id: string; body: string; at: number },
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
