import { type Buyer, BuyerError, createBuyer, memoryStorage } from '../../../src/buyer/index.ts'
import { microToDollars } from '../../../src/protocol/amount.ts'
import type { DevAccount } from '../../../src/testing/index.ts'
import { METERED_MICRO, PLAN_MICRO } from '../catalog.ts'
import type { Deal, Said } from '../deal.ts'
import { type Market, newDeal, VALID_SECONDS, type Way } from '../market.ts'
import { readHttp } from '../read-answer.ts'
import { SHOP } from '../site.ts'

const WAIT_SECONDS = 15

/** Our own buyer, whose requests to the shop reach one of its instances. */
function buyerOf({ chain, pick }: Market, { account }: DevAccount): Buyer {
  return createBuyer({
    account,
    maxAmount: '$1.00',
    credits: 'off',
    storage: memoryStorage(),
    validSeconds: VALID_SECONDS,
    maxWaitSeconds: WAIT_SECONDS,
    rpcUrls: { [chain.network]: chain.rpcUrl },
    fetch: (input, init) => {
      const request = new Request(input, init)
      return request.url.startsWith(SHOP)
        ? fetch(new Request(request.url.replace(SHOP, pick()), request))
        : fetch(request)
    },
  })
}

/** What the buyer's own words mean. A payment that is kept is sent again by the next call under the same name. */
function readError(error: unknown): Said {
  if (!(error instanceof BuyerError)) return { kind: 'pending', text: String(error) }
  const { code, gateway } = error
  const text = `${code}: ${error.message}`
  if (code === 'STILL_PENDING' || code === 'UNEXPECTED_ANSWER') return { kind: 'pending', text }
  if (code === 'REFUNDED') return { kind: 'refunded' }
  if (code === 'PAYMENT_FAILED') return { kind: 'unpaid', code }
  if (code === 'REFUSED' && (gateway?.httpStatus ?? 0) >= 500) return { kind: 'pending', text }
  return { kind: 'odd', text }
}

const buyBySdk =
  (way: string, priceMicro: bigint, buy: (buyer: Buyer, name: string, deal: Deal) => Promise<Said>): Way =>
  async (market, wallet, name) => {
    const buyer = buyerOf(market, wallet)
    const deal: Deal = newDeal(wallet, {
      ...{ way, priceMicro, requestId: name },
      send: () => buy(buyer, name, deal).catch(readError),
    })
    return deal
  }

export const planBySdk = buyBySdk('sdk plan', PLAN_MICRO, async (buyer, name) => {
  const { grant } = await buyer.buy(SHOP, { planId: 'basic', requestId: name })
  return { kind: 'delivered', result: grant.accessToken, txHash: grant.txHash }
})

export const meteredBySdk = buyBySdk('sdk metered', METERED_MICRO, async (buyer, name) => {
  const headers = { 'idempotency-key': name }
  const response = await buyer.fetch(`${SHOP}/chat/${name}`, { method: 'POST', headers })
  const told = buyer.chargeOf(response)?.charged
  const said = await readHttp(response)
  if (said.kind !== 'delivered' || told === microToDollars(said.chargedMicro ?? METERED_MICRO)) return said
  return { kind: 'odd', text: `a charge of ${told}, where the receipt says ${said.chargedMicro}` }
})
