import { type LookupAddress, type LookupOptions, lookup as resolveHost } from 'node:dns'
import { Agent } from 'undici'
import { exchange, LimitError } from '../exchange.ts'
import type { WebhookAnswer, WebhookEndpoint, Webhooks } from '../ports.ts'
import { endpointId } from './endpoint-id.ts'
import { isAllowedHost, isPrivateAddress, literalAddress } from './private-address.ts'
import { webhookHeaders } from './sign-webhook.ts'

/** An endpoint as it is configured: every secret signs. */
export interface SignedEndpoint extends Omit<WebhookEndpoint, 'id'> {
  secrets: readonly string[]
}

export interface WebhookSettings {
  endpoints: readonly SignedEndpoint[]
  /** Hosts, or `host:port`, that may be private. */
  allowHosts: readonly string[]
  userAgent: string
  timeoutMs?: number
  /** As node:dns has it. */
  resolve?: typeof resolveHost
}

const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 1024 * 1024
const SHOWN_CHARACTERS = 300

class PrivateAddressError extends Error {}

/** Posts signed messages to the seller's endpoints. No redirect is followed, and no private address is connected to. */
export function createWebhooks(options: WebhookSettings): Webhooks & { close(): Promise<void> } {
  const { timeoutMs = TIMEOUT_MS, userAgent } = options
  const resolve = options.resolve ?? resolveHost
  const limits = { connections: 8, connectTimeout: timeoutMs }
  // Names are resolved here and connected to as resolved, so that a name cannot mean something else in between.
  const guarded = new Agent({ ...limits, connect: { lookup: publicLookup(resolve), timeout: timeoutMs } })
  const open = new Agent(limits)
  const places = options.endpoints.map(({ url: text, events, secrets }) => {
    const url = new URL(text)
    const allowed = isAllowedHost(url, options.allowHosts)
    const literal = literalAddress(url.hostname)
    // An address is connected to without being looked up.
    const refused = !allowed && literal !== undefined && isPrivateAddress(literal)
    return { id: endpointId(text), url, text, events, secrets, refused, agent: allowed ? open : guarded }
  })

  async function send(id: string, message: { id: string; body: string; at: number }): Promise<WebhookAnswer> {
    const place = places.find((one) => one.id === id)
    if (!place) return { status: null, text: 'no such endpoint is configured' }
    const { url, secrets, agent, refused } = place
    try {
      if (refused) throw new PrivateAddressError()
      const headers = {
        'content-type': 'application/json',
        'user-agent': userAgent,
        ...webhookHeaders(secrets, message),
      }
      const target = { origin: url.origin, path: `${url.pathname}${url.search}`, method: 'POST', headers }
      const { status, bytes } = await exchange(
        agent,
        { ...target, body: message.body },
        { timeoutMs, maxBytes: MAX_ANSWER_BYTES },
      )
      const redirected = status >= 300 && status < 400
      return { status, text: redirected ? 'a redirect, which is not followed' : shown(bytes) }
    } catch (cause) {
      return { status: null, text: reasonOf(cause, timeoutMs) }
    }
  }

  return {
    endpoints: places.map(({ id, text: url, events }) => ({ id, url, events })),
    send,
    async close() {
      await Promise.all([guarded.close(), open.close()])
    },
  }
}

type Resolved = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/** Refuses a name if any of its addresses is private. */
export function publicLookup(resolve: typeof resolveHost) {
  return (hostname: string, options: LookupOptions, done: Resolved): void => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, [])
      const isFit = addresses.length > 0 && addresses.every(({ address }) => !isPrivateAddress(address))
      if (!isFit) return done(new PrivateAddressError(), [])
      if (options.all) return done(null, addresses)
      done(null, addresses[0]!.address, addresses[0]!.family)
    })
  }
}

function shown(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .trim()
    .slice(0, SHOWN_CHARACTERS)
    .toWellFormed()
}

function reasonOf(cause: unknown, timeoutMs: number): string {
  if (cause instanceof PrivateAddressError)
    return 'not called: its address is private; list its host in WEBHOOK_ALLOW_HOSTS (webhookAllowHosts) to allow it'
  if (cause instanceof LimitError)
    return cause.limit === 'time' ? `no answer within ${timeoutMs / 1000} s` : 'its answer is too long'
  const code: unknown = Object(cause).code
  return typeof code === 'string' ? `no connection (${code})` : 'no connection'
}
