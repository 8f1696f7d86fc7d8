import { kindOf, type OptionReader } from './option-reader.ts'
import type { BackendConfig } from './resolved-config.ts'
import { baseUrlFault, urlFault } from './url-fault.ts'

const EXAMPLE = 'http://localhost:8080'
const MEMBERS_FOR_CALLS = ['secret', 'timeoutSeconds'] as const
const MEMBERS = ['baseUrl', ...MEMBERS_FOR_CALLS]
// A connection without traffic for 300 s is cut, and settling takes a part of that time.
const MAX_TIMEOUT_SECONDS = 240

/** Reads who answers calls of routes: an HTTP backend, a function of the seller, or the seller's own server with middleware. */
export function readBackend(reader: OptionReader, gatewayUrl: string): BackendConfig {
  const given: unknown = reader.value('proxyTo')
  const fetchResource = reader.callback('fetchResource')
  const proxy = given === undefined ? undefined : readProxy(reader, given, gatewayUrl)
  if (given !== undefined && fetchResource) {
    reader.fault('fetchResource', `and ${reader.label('proxyTo')} are both set; keep one backend.`)
  }
  if (proxy) return proxy
  if (fetchResource) return { kind: 'callback', fetchResource }
  // The standalone server has no handlers of its own: without a backend, routes would be sold and never delivered.
  const routes: unknown = reader.value('routes')
  const sold = Array.isArray(routes) && routes.length > 0
  if (sold && given === undefined && !reader.settable('fetchResource')) {
    reader.miss(['proxyTo'], `routes need the backend that answers them, for example ${exampleOf(reader)}`)
  }
  return { kind: 'embedded' }
}

const exampleOf = (reader: OptionReader): string =>
  reader.label('proxyTo') === 'proxyTo'
    ? `proxyTo: { baseUrl: "${EXAMPLE}" }`
    : reader.example('proxyTo', EXAMPLE)

function readProxy(reader: OptionReader, given: unknown, gatewayUrl: string): BackendConfig | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    reader.fault('proxyTo', `is ${kindOf(given)}; it must be an object, for example ${exampleOf(reader)}`)
    return undefined
  }
  const { baseUrl, secret, timeoutSeconds = 30, ...rest } = given as Record<string, unknown>
  // Plans are sold without a backend, so variables that only one needs must not stop that. In code a backend is meant.
  const isIdle = baseUrl === undefined && !reader.settable('fetchResource') && !reader.isGiven('routes')
  for (const name of Object.keys(rest)) {
    reader.fault(
      'proxyTo',
      `has an unknown member ${JSON.stringify(name)}; it may have ${MEMBERS.join(', ')}.`,
    )
  }
  const url = isIdle ? undefined : readUrl(reader, baseUrl, gatewayUrl)
  if (secret !== undefined && (typeof secret !== 'string' || secret === '')) {
    reader.fault(
      'proxyTo.secret',
      `is ${secret === '' ? 'empty' : kindOf(secret)}; it must be a text, for example the output of: openssl rand -hex 32`,
    )
  }
  const whole = typeof timeoutSeconds === 'number' && Number.isInteger(timeoutSeconds)
  if (!whole || timeoutSeconds < 1 || timeoutSeconds > MAX_TIMEOUT_SECONDS) {
    const found = typeof timeoutSeconds === 'number' ? `${timeoutSeconds}` : kindOf(timeoutSeconds)
    reader.fault(
      'proxyTo.timeoutSeconds',
      `is ${found}; it must be a whole number from 1 to ${MAX_TIMEOUT_SECONDS}, for example 30`,
    )
    return undefined
  }
  if (isIdle) return { kind: 'embedded', idle: MEMBERS_FOR_CALLS.filter((name) => name in given) }
  if (url === undefined) return undefined
  return { kind: 'proxy', baseUrl: url, secret: typeof secret === 'string' ? secret : null, timeoutSeconds }
}

function readUrl(reader: OptionReader, given: unknown, gatewayUrl: string): string | undefined {
  if (given === undefined || given === '') {
    reader.miss(['proxyTo'], `it says where the backend is, for example ${exampleOf(reader)}`)
    return undefined
  }
  const text = typeof given === 'string' ? given.trim() : ''
  const fault =
    typeof given === 'string'
      ? (urlFault(text) ?? baseUrlFault(text))
      : `is ${kindOf(given)}; it must be a URL`
  if (fault !== undefined) {
    reader.fault('proxyTo', `${fault}, for example ${exampleOf(reader)}`)
    return undefined
  }
  const url = text.replace(/\/+$/, '')
  if (`${url}/`.startsWith(`${gatewayUrl}/`)) {
    reader.fault(
      'proxyTo',
      `is the gateway itself, which would call itself for ever; give your own server, for example ${exampleOf(reader)}`,
    )
  }
  return url
}
