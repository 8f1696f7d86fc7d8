import { decodeJsonObject } from '../../protocol/base64.ts'
import { UPTO_SCHEME } from '../../protocol/permit2.ts'
import type { Check, Finding } from '../run-checks.ts'
import { isObject, type PublicOperation } from './public-document.ts'

/** What many servers in front pass on. */
const MAX_HEADER_BYTES = 8 * 1024

/** Asks as a directory does, with neither body nor payment: is the answer a 402 that an agent can pay? */
export function checkOffer({ name, method, url }: PublicOperation): Check {
  const fix = 'Let every proxy in front pass this path on, with its method, status and headers unchanged.'
  return {
    name,
    asks: url,
    fix,
    async run(limitMs) {
      const signal = AbortSignal.timeout(limitMs)
      const response = await fetch(url, { method, redirect: 'manual', signal })
      await response.body?.cancel()
      const read = readOffer(response)
      if ('fault' in read) return [{ name, level: 'error', message: read.fault, fix }]
      return [sized(name, response.headers, `402, ${read.offered}`)]
    },
  }
}

/** What is offered, or the first thing that a directory would reject. */
function readOffer({ status, headers }: Response): { offered: string } | { fault: string } {
  if (status !== 402) return { fault: `answers ${status} to a request without body and payment, and not 402` }
  const header = headers.get('payment-required')
  if (header === null) return { fault: 'answers 402 without the header payment-required' }
  const required = decodeJsonObject(header)
  if (!required) return { fault: 'has a header payment-required that is not base64 of JSON' }
  const { x402Version, accepts, extensions } = required
  if (x402Version !== 2) return { fault: `offers x402 version ${String(x402Version)}, and not 2` }
  if (!Array.isArray(accepts) || accepts.length === 0) {
    return { fault: 'offers no way to pay: accepts is empty' }
  }
  const fault = accepts.map(acceptFault).find((one) => one !== undefined)
  if (fault !== undefined) return { fault }
  const missing = missingSchema(extensions)
  if (missing !== undefined) {
    return { fault: `does not describe its ${missing}: extensions.bazaar has no schema of it` }
  }
  // MPP has no metered calls.
  const isMetered = accepts.every((one) => Object(one).scheme === UPTO_SCHEME)
  if (!isMetered && !/\bmethod="evm"/.test(headers.get('www-authenticate') ?? '')) {
    return { fault: 'has no MPP challenge in WWW-Authenticate' }
  }
  const networks = accepts.map((one) => String(Object(one).network)).join(', ')
  return { offered: `x402 on ${networks}, ${isMetered ? 'metered' : 'MPP'}, input and output described` }
}

const FIELDS = ['scheme', 'network', 'asset', 'amount', 'payTo']

function acceptFault(accept: unknown, index: number): string | undefined {
  const entry = isObject(accept) ? accept : {}
  const missing = FIELDS.find((field) => typeof entry[field] !== 'string' || entry[field] === '')
  if (missing !== undefined) return `has no ${missing} in accepts[${index}]`
  if (!/^[^:\s]+:[^:\s]+$/.test(String(entry.network))) {
    return `has a network in accepts[${index}] that is not CAIP-2`
  }
  return Number(entry.maxTimeoutSeconds) > 0 ? undefined : `has no maxTimeoutSeconds in accepts[${index}]`
}

/** Directories look for the schemas in these places. */
function missingSchema(extensions: unknown): 'input' | 'output' | undefined {
  const at = (value: unknown, ...path: string[]): unknown =>
    path.reduce((one, key) => (isObject(one) ? one[key] : undefined), value)
  const properties = at(extensions, 'bazaar', 'schema', 'properties')
  const input = at(properties, 'input', 'properties')
  if (!isObject(at(input, 'body')) && !isObject(at(input, 'queryParams'))) return 'input'
  return isObject(at(properties, 'output', 'properties', 'example')) ? undefined : 'output'
}

function sized(name: string, headers: Headers, message: string): Finding {
  const bytes = [...headers].reduce((sum, [key, value]) => sum + key.length + value.length + 4, 0)
  const size = `${message}, ${(bytes / 1024).toFixed(1)} KiB of headers`
  if (bytes <= MAX_HEADER_BYTES) return { name, level: 'ok', message: size }
  const fix = 'Shorten descriptions, sell on fewer networks, or take headers off that a proxy adds.'
  return { name, level: 'error', message: `${size}; many servers and clients take 8`, fix }
}
