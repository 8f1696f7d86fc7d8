import { mppBuyer, unwrap } from '../../e2e/mpp-buyer.ts'
import type { Deal } from '../deal.ts'
import { askTerms, newDeal, post, type Way } from '../market.ts'
import { readHttp } from '../read-answer.ts'
import { cityFor } from './x402.ts'

/** Lets the official client sign, and sends its credential as often as need be. */
const buyByMpp =
  (way: string, requestOf: (...given: Parameters<Way>) => { path: string; init: RequestInit }): Way =>
  async (market, wallet, name): Promise<Deal | undefined> => {
    const { path, init } = requestOf(market, wallet, name)
    const credential = await askTerms(market, (origin) =>
      mppBuyer(wallet.account).credential(origin + path, init),
    )
    if (credential === undefined) return undefined
    const paid = { ...init, headers: { ...init.headers, authorization: credential } }
    return newDeal(wallet, {
      way,
      requestId: name,
      priceMicro: BigInt(unwrap(credential).payload.value!),
      send: async (origin, signal) => readHttp(await fetch(origin + path, { ...paid, signal })),
    })
  }

export const planByMpp = buyByMpp('mpp plan', (_market, _wallet, name) => ({
  path: '/x402/access',
  init: post({ planId: 'basic', requestId: name }),
}))

export const routeByMpp = buyByMpp('mpp route', (market, _wallet, name) => ({
  path: `/weather/${cityFor(market, name)}`,
  init: { headers: { 'idempotency-key': name } },
}))
