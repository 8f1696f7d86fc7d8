import { isCaching } from '../protocol/caching-headers.ts'
import { connectionHeaders, HOP_BY_HOP } from './hop-by-hop.ts'

/** As node and undici give them: names in lower case, a list where a header came more than once. */
export type GivenHeaders = Readonly<Record<string, string | string[] | undefined>>

/** A backend's headers, without those that concern only its connection with us. */
export function passedHeaders(given: GivenHeaders, publicLocation: PublicLocation): Array<[string, string]> {
  const { connection } = given
  const named = connectionHeaders(Array.isArray(connection) ? connection.join(',') : connection)
  return Object.entries(given).flatMap(([name, value]) => {
    if (HOP_BY_HOP.has(name) || named.has(name)) return []
    const values = Array.isArray(value) ? value : [value ?? '']
    return values.map((one): [string, string] => [name, publicValue(name, one, publicLocation)])
  })
}

export type PublicLocation = (location: string) => string

/** Addresses in headers are public ones. */
function publicValue(name: string, value: string, publicLocation: PublicLocation): string {
  if (name === 'location' || name === 'content-location') return publicLocation(value)
  return name === 'link' ? value.replace(/<([^<>]*)>/g, (_, target) => `<${publicLocation(target)}>`) : value
}

/** Addresses of the backend, with its scheme or without, are rewritten to the gateway. */
export function publicLocationOf(backendUrl: string, baseUrl: string): PublicLocation {
  const places = [backendUrl, backendUrl.slice(backendUrl.indexOf('//'))]
  return (location) => {
    const place = places.find((one) => location.slice(0, one.length).toLowerCase() === one.toLowerCase())
    const rest = place === undefined ? 'elsewhere' : location.slice(place.length)
    return /^([/?#]|$)/.test(rest) ? baseUrl + rest : location
  }
}

/**
 * Headers that a raw answer does not take from the backend, beside those for caches. Bodies are stored decoded and answers belong
 * to one buyer, so the gateway sets length, encoding and caching. A receipt or an offer of the backend could make a client believe in a payment or
 * pay someone else; cookies and the last headers would affect the gateway's whole origin.
 */
const NEVER_RAW =
  /^(x-svc-.*|payment-.*|settlement-overrides|x-payment.*|content-(length|encoding)|date|access-control-.*|set-cookie|alt-svc|clear-site-data|nel|report-to|reporting-endpoints|service-worker-allowed|strict-transport-security)$/

/** Names that were judged before: a backend answers with the same few. */
const judged = new Map<string, boolean>()
const MAX_JUDGED = 500

function isNeverRaw(name: string): boolean {
  let never = judged.get(name)
  if (never === undefined) {
    never = NEVER_RAW.test(name) || isCaching(name)
    if (judged.size >= MAX_JUDGED) judged.clear()
    judged.set(name, never)
  }
  return never
}

/** The headers of a backend that a raw route passes on and stores for replays. */
export function rawHeaders(given: GivenHeaders, publicLocation: PublicLocation): Array<[string, string]> {
  return passedHeaders(given, publicLocation).filter(
    ([name, value]) => !isNeverRaw(name) && !(name === 'www-authenticate' && /\bpayment\b/i.test(value)),
  )
}
