import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { exchange } from '../exchange.ts'
import type { AskPrice } from '../ports.ts'
import type { Route } from '../protocol/catalog.ts'
import type { PricedCall, PriceOfCall } from '../protocol/computed-price.ts'
import { parseResourcePath } from '../rules/resource-path.ts'
import { matchPattern, parsePattern } from '../rules/route-pattern.ts'
import { bodyHashOf } from '../rules/terms.ts'

const TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 16 * 1024

/** Says what calls of routes with a computed price cost. */
export interface PriceService {
  ask: AskPrice
  close(): Promise<void>
}

/** `routes`: those with a computed price. */
export function createPriceService(routes: readonly Route[], timeoutMs: number = TIMEOUT_MS): PriceService {
  const agent = new Agent({ connections: 64, connectTimeout: timeoutMs })
  const sources = new Map<string, { pattern: ReturnType<typeof parsePattern>; priceOf: PriceOfCall }>()
  for (const { routeId, path, unitAmount, priceFrom } of routes) {
    const pattern = parsePattern(path)
    if (typeof unitAmount === 'function') {
      sources.set(routeId, { pattern, priceOf: (call) => withinTime(unitAmount, call, timeoutMs) })
    } else if (priceFrom !== undefined) {
      sources.set(routeId, { pattern, priceOf: askServer(agent, new URL(priceFrom), timeoutMs) })
    }
  }
  return {
    async ask(routeId, { method, path, body }) {
      const source = sources.get(routeId)
      const parsed = parseResourcePath(path)
      if (!source || !parsed) throw new Error(`nobody says the price of ${method} ${path}`)
      const { pathname, search } = parsed
      return source.priceOf({
        routeId,
        method,
        path: pathname,
        params: matchPattern(source.pattern, pathname) ?? {},
        query: queryOf(search),
        ...(body && body.length > 0 && { body }),
      })
    },
    close: () => agent.close(),
  }
}

function queryOf(search: string): PricedCall['query'] {
  const found = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(search)) {
    const values = found.get(name)
    if (values) values.push(value)
    else found.set(name, [value])
  }
  return Object.fromEntries(
    [...found].map(([name, values]) => [name, values.length === 1 ? values[0]! : values]),
  )
}

async function withinTime(priceOf: PriceOfCall, call: PricedCall, timeoutMs: number): Promise<string> {
  const done = new AbortController()
  const late = sleep(timeoutMs, undefined, { signal: done.signal, ref: false }).then(() => {
    throw new Error(`the function said no price within ${timeoutMs / 1000} s`)
  })
  try {
    return await Promise.race([priceOf(call), late])
  } finally {
    late.catch(() => undefined)
    done.abort()
  }
}

/** Asks the seller's server; no redirect is followed. The answer is `{"amount": "$0.01"}`. */
function askServer(agent: Agent, url: URL, timeoutMs: number): PriceOfCall {
  const target = { origin: url.origin, path: `${url.pathname}${url.search}`, method: 'POST' }
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return async ({ routeId, method, path, params, query, body }) => {
    const asked = { routeId, method, path, params, query, bodyHash: body ? bodyHashOf(body) : null }
    const { status, bytes } = await exchange(
      agent,
      { ...target, headers, body: JSON.stringify(asked) },
      { timeoutMs, maxBytes: MAX_ANSWER_BYTES },
    )
    if (status !== 200) throw new Error(`priceFrom answered ${status}`)
    return amountIn(bytes)
  }
}

function amountIn(bytes: Buffer): string {
  let answer: unknown
  try {
    answer = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new Error('priceFrom answered no JSON; it must answer {"amount": "$0.01"}')
  }
  const amount: unknown = Object(answer).amount
  if (typeof amount === 'string') return amount
  throw new Error('priceFrom answered no amount; it must answer {"amount": "$0.01"}')
}
