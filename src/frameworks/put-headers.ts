import type { ServerResponse } from 'node:http'
import { isCaching } from '../protocol/caching-headers.ts'
import { headerPairs } from './header-pairs.ts'

/**
 * Sets headers in place of those that the seller set, also by `writeHead`, whose headers node would take before ours: they are set
 * here, and the arguments that are left are returned. Whoever sets `cache-control` says it to every cache: headers that some of
 * them follow before it are removed.
 */
export function putHeaders(
  response: ServerResponse,
  headers: Record<string, string>,
  writeHeadArgs: unknown[],
): unknown[] {
  const isGiven = (arg: unknown): arg is object => typeof arg === 'object' && arg !== null
  const own = new Map<string, Array<string | number>>()
  for (const [name, value] of writeHeadArgs.filter(isGiven).flatMap(headerPairs)) {
    // A list may name a header twice.
    own.set(name, [...(own.get(name) ?? []), ...[value].flat()])
  }
  for (const [name, values] of own) {
    response.setHeader(name, values.length === 1 ? values[0]! : values.map(String))
  }
  if (Object.hasOwn(headers, 'cache-control')) {
    for (const name of response.getHeaderNames()) if (isCaching(name)) response.removeHeader(name)
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  return writeHeadArgs.filter((arg) => !isGiven(arg))
}
