import { listed } from './payment-headers.ts'

/** As node and undici hand them over: names in lower case, a list where one came more than once. */
export type GivenHeaders = Readonly<Record<string, string | string[] | undefined>>

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** A backend's headers without those of its connection with us. */
export function passedHeaders(given: GivenHeaders, publicLocation: PublicLocation): Array<[string, string]> {
  const { connection } = given
  const named = new Set(listed(Array.isArray(connection) ? connection.join(',') : connection))
  return Object.entries(given).flatMap(([name, value]) => {
    if (HOP_BY_HOP.has(name) || named.has(name)) return []
    const values = Array.isArray(value) ? value : [value ?? '']
    return values.map((one): [string, string] => [name, name === 'location' ? publicLocation(one) : one])
  })
}

export type PublicLocation = (location: string) => string

/** Redirects that point at the backend are pointed at the gateway. */
export function publicLocationOf(backendUrl: string, baseUrl: string): PublicLocation {
  return (location) =>
    location.startsWith(`${backendUrl}/`) ? baseUrl + location.slice(backendUrl.length) : location
}

/**
 * What a raw answer does not say for its backend. Bodies are stored decoded and answers belong to one buyer, so their
 * length, coding and caching are ours. A receipt or an offer that is not ours would make a client believe in a payment,
 * or pay another one; cookies and the last ones would speak for the gateway's whole origin.
 */
const NEVER_RAW =
  /^(x-svc-.*|payment-.*|x-payment.*|content-(length|encoding)|cache-control|pragma|expires|age|date|access-control-.*|set-cookie|alt-svc|clear-site-data|nel|report-to|reporting-endpoints|service-worker-allowed|strict-transport-security)$/

/** A backend's headers as a raw route passes them on, and keeps them for a replay. */
export function rawHeaders(given: GivenHeaders, publicLocation: PublicLocation): Array<[string, string]> {
  return passedHeaders(given, publicLocation).filter(
    ([name, value]) => !NEVER_RAW.test(name) && !(name === 'www-authenticate' && /\bpayment\b/i.test(value)),
  )
}
