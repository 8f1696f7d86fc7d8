import type { RouteCall } from '../../../src/ports.ts'
import { buyHonestly, buyInParallel } from './honest.ts'
import { askTerms, type Buyer, paidIntent, payUntilKnown, type Shop, see, sign } from './shop.ts'

const call = (path: string): RouteCall => ({ method: 'GET', path, headers: {}, body: null })

function sellCalls(buyer: Buyer, embedded: boolean): void {
  buyer.route = { routeId: 'weather', call: call(`/weather/${buyer.name}`), ...(embedded && { embedded }) }
  buyer.planId = 'weather'
}

/** Buys one call, whose backend may fail: then it asks again, or has its money back. */
export async function buyCall(shop: Shop, buyer: Buyer): Promise<void> {
  sellCalls(buyer, false)
  await (shop.world.dice.chance(0.3) ? buyInParallel(shop, buyer) : buyHonestly(shop, buyer))
}

/** Many calls at once, each of which may fail and be refunded at our cost. */
export async function callManyAtOnce(shop: Shop, buyer: Buyer): Promise<void> {
  await Promise.all(
    Array.from({ length: 7 }, async (_, turn) => {
      const one = { ...buyer, name: `${buyer.name}-${turn}`, requestId: undefined }
      sellCalls(one, false)
      const terms = await askTerms(shop, one)
      if (!terms) return
      shop.world.count('payments at once')
      await payUntilKnown(shop, one, sign(shop, one, terms), 3)
    }),
  )
}

/** The same where the seller's own handler answers. */
export async function buyEmbedded(shop: Shop, buyer: Buyer): Promise<void> {
  sellCalls(buyer, true)
  await buyHonestly(shop, buyer)
}

/** Pays for one call and asks for another with the same payment. */
export async function callAnother(shop: Shop, buyer: Buyer): Promise<void> {
  sellCalls(buyer, false)
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const payment = sign(shop, buyer, terms)
  const other = { ...paidIntent(shop, buyer, payment), call: call('/weather/elsewhere') }
  const [, reply] = await Promise.all([payUntilKnown(shop, buyer, payment), shop.ask(other)])
  const seen = see(shop, buyer, 'another call', reply)
  if (typeof seen !== 'string' && seen.kind === 'resource') {
    shop.world.violate('I4', `${buyer.name} got two calls for one payment`)
  }
}
