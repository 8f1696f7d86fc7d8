import { encodeJson } from '../../../src/protocol/base64.ts'
import type { PaymentRequirements } from '../../../src/protocol/payment.ts'
import type { DevAccount } from '../../../src/testing/index.ts'
import { FAILING_CITY } from '../catalog.ts'
import type { Deal } from '../deal.ts'
import { askHttpTerms, type Market, newDeal, post, signExact, type Way } from '../market.ts'
import { readHttp } from '../read-answer.ts'

export interface Called {
  way: string
  path: string
  init: RequestInit
  requestId?: string
}

/** Terms, a signature for them, and the payment as a header. */
export async function payByHeader(
  market: Market,
  wallet: DevAccount,
  { way, path, init, requestId }: Called,
  sign: (wallet: DevAccount, accepted: PaymentRequirements) => Promise<object> = signExact,
): Promise<Deal | undefined> {
  const terms = await askHttpTerms(market, path, init)
  if (!terms) return undefined
  const accepted = terms.accepts[0]!
  const header = encodeJson((await sign(wallet, accepted)) as Record<string, unknown>)
  const paid = { ...init, headers: { ...init.headers, 'payment-signature': header } }
  return newDeal(wallet, {
    way,
    challengeId: terms.challengeId,
    ...(requestId !== undefined && { requestId }),
    priceMicro: BigInt(accepted.amount),
    send: async (origin, signal) => readHttp(await fetch(origin + path, { ...paid, signal })),
  })
}

/** Some buyers name their purchase, some leave it to the gateway. */
export const nameFor = ({ dice }: Market, name: string) => (dice.chance(0.7) ? { requestId: name } : {})

export const planByHttp: Way = (market, wallet, name) => {
  const named = nameFor(market, name)
  const init = post({ planId: 'basic', ...named })
  return payByHeader(market, wallet, { way: 'http plan', path: '/x402/access', init, ...named })
}

/** A city of its own for each call, or the one for which there is never an answer. */
export const cityFor = ({ dice }: Market, name: string) => (dice.chance(0.08) ? FAILING_CITY : name)

export const routeByHttp: Way = (market, wallet, name) => {
  const path = `/weather/${cityFor(market, name)}`
  const named = nameFor(market, name)
  const headers: Record<string, string> = named.requestId ? { 'idempotency-key': named.requestId } : {}
  return payByHeader(market, wallet, { way: 'http route', path, init: { headers }, ...named })
}

/** The same call, asked for as a body. */
export const routeByAccess: Way = (market, wallet, name) => {
  const resource = { method: 'GET', path: `/weather/${cityFor(market, name)}` }
  const named = nameFor(market, name)
  const init = post({ routeId: 'weather', resource, ...named })
  return payByHeader(market, wallet, { way: 'http access route', path: '/x402/access', init, ...named })
}
