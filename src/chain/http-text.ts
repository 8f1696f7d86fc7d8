import { Agent } from 'undici'
import { UnavailableError } from '../errors.ts'
import { type ExchangeAnswer, type ExchangeLimits, exchange, LimitError } from '../exchange.ts'

/** The answer was cut off at the size limit, so its content is unknown. */
export class OversizeError extends UnavailableError {}

const agent = new Agent()

/**
 * One HTTP exchange with a time and a size limit. Every failure is an {@link UnavailableError} that names `what`,
 * never the address: RPC addresses contain API keys.
 */
export async function fetchText(
  what: string,
  url: URL,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
  limits: ExchangeLimits,
): Promise<{ status: number; headers: ExchangeAnswer['headers']; text: string }> {
  try {
    const { origin, pathname, search } = url
    const { status, headers, bytes } = await exchange(
      agent,
      { ...init, origin, path: pathname + search },
      limits,
    )
    // Redirects are not followed: that could send a signed payment, or our keys, to another host.
    if (status >= 300 && status <= 399) throw new Error(`redirected with HTTP ${status}`)
    return { status, headers, text: bytes.toString('utf8') }
  } catch (cause) {
    if (cause instanceof LimitError && cause.limit === 'size')
      throw new OversizeError(`${what} (answer above ${limits.maxBytes} bytes)`)
    throw new UnavailableError(what, cause)
  }
}
