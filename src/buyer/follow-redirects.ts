import { BuyerError } from './buyer-error.ts'

/** A request in parts, because it may be sent several times and a `Request` only once. */
export interface Outgoing {
  url: string
  method: string
  headers: Headers
  body: ArrayBuffer | undefined
}

const REDIRECTS = [301, 302, 303, 307, 308]
const MAX_REDIRECTS = 20

/** The only headers of the caller that another host gets: any other may be a credential. */
const IMPERSONAL = ['accept', 'accept-language', 'content-type', 'idempotency-key', 'user-agent']

/** The target of a redirect; undefined if the answer is none. */
export function redirectTarget(response: Response, from: string): URL | undefined {
  const location = response.headers.get('location')
  if (location === null || !REDIRECTS.includes(response.status)) return undefined
  return URL.canParse(location, from) ? new URL(location, from) : undefined
}

/**
 * Sends an unpaid request and follows redirects within its origin, like fetch. Another origin is followed only if the
 * caller allowed its host, and without the caller's credentials. Returns the answer with the request that got it.
 */
export async function followRedirects(
  fetchOnce: typeof fetch,
  request: Outgoing,
  options: {
    redirect: Request['redirect']
    allowedHosts: ReadonlySet<string> | undefined
    signal: AbortSignal
  },
): Promise<{ response: Response; at: Outgoing }> {
  const { redirect, allowedHosts, signal } = options
  let at = request
  for (let hops = 0; ; hops++) {
    const response = await send(fetchOnce, at, redirect === 'error' ? 'error' : 'manual', signal)
    const target = redirect === 'follow' ? redirectTarget(response, at.url) : undefined
    if (!target) return { response, at }
    await response.body?.cancel()
    if (hops === MAX_REDIRECTS)
      throw new TypeError(`${request.url} redirects more than ${MAX_REDIRECTS} times`)
    at = redirected(at, target, response.status, allowedHosts)
  }
}

export function send(
  fetchOnce: typeof fetch,
  { url, method, headers, body }: Outgoing,
  redirect: 'manual' | 'error',
  signal: AbortSignal,
): Promise<Response> {
  return fetchOnce(url, { method, headers, redirect, signal, ...(body && { body }) })
}

/** The headers that another origin may get. */
export function withoutCredentials(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => IMPERSONAL.includes(name)))
}

function redirected(
  { url, method, headers, body }: Outgoing,
  target: URL,
  status: number,
  allowedHosts: ReadonlySet<string> | undefined,
): Outgoing {
  const from = new URL(url)
  const leaves = target.origin !== from.origin
  const refuse = (why: string) => {
    const message = `${from.origin} redirects to ${target.origin}, ${why}. Nothing was sent there`
    return new BuyerError('REDIRECTED', message)
  }
  if (leaves && !allowedHosts?.has(target.host)) {
    throw refuse('another origin; call that address, or name its host in allowedHosts')
  }
  if (from.protocol === 'https:' && target.protocol !== 'https:') throw refuse('which is not encrypted')
  const kept = leaves ? withoutCredentials(headers) : new Headers(headers)
  const becomesGet =
    (status === 303 && method !== 'GET' && method !== 'HEAD') || (status < 303 && method === 'POST')
  if (!becomesGet) return { url: target.href, method, headers: kept, body }
  for (const name of ['content-type', 'content-encoding', 'content-language', 'content-location']) {
    kept.delete(name)
  }
  return { url: target.href, method: 'GET', headers: kept, body: undefined }
}
