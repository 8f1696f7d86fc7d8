import type { WirePayment } from './credential.ts'
import { askTerms, type Buyer, chainOf, paidIntent, payUntilKnown, type Shop, see, sign } from './shop.ts'
import type { WireRequired } from './wire.ts'

/** Signs for this entry of a 402. */
function signFor(shop: Shop, buyer: Buyer, terms: WireRequired, index: number): WirePayment {
  return sign(shop, buyer, { ...terms, accepts: [terms.accepts[index]!] })
}

/** Pays one challenge on every chain that it is offered on, at once. */
export async function payOnEveryChain(shop: Shop, buyer: Buyer): Promise<void> {
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  if (terms.accepts.length > 1) shop.world.count('paid on several chains at once')
  const all = terms.accepts.map((_, index) => signFor(shop, buyer, terms, index))
  await Promise.all(all.map((payment) => payUntilKnown(shop, buyer, payment)))
}

/** Shows an authorization of one chain for another one, before it is used, meanwhile or after. */
export async function payForAnotherChain(shop: Shop, buyer: Buyer): Promise<void> {
  const { extraDice, scheduler } = shop.world
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const payment = signFor(shop, buyer, terms, 0)
  const paying = extraDice.chance(0.7) ? payUntilKnown(shop, buyer, payment) : undefined
  for (const accepted of terms.accepts.slice(1)) {
    await scheduler.sleep(extraDice.skewed(0, 20_000))
    shop.world.count('shown for another chain')
    const copy = { ...payment, accepted }
    const reply = see(shop, buyer, 'other chain', await shop.ask(paidIntent(shop, buyer, copy)))
    const got = typeof reply !== 'string' && (reply.kind === 'granted' || reply.kind === 'resource')
    if (got && !paying)
      shop.world.violate(
        'I14',
        `${buyer.name} bought with a signature for ${chainOf(shop, payment).network.name}`,
      )
  }
  await paying
}

/** Takes an offer of some chain, and pays on it once that chain is out of order. */
export async function payOnceItIsDown(shop: Shop, buyer: Buyer): Promise<void> {
  const { extraDice, scheduler, weather } = shop.world
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const payment = sign(shop, buyer, terms, { validSeconds: 900 })
  const latest = scheduler.now() + weather.config.challengeTtlMs * 0.8
  const isDown = (): boolean => shop.downFor(chainOf(shop, payment)) > extraDice.int(0, 40_000)
  while (scheduler.now() < latest && !isDown()) await scheduler.sleep(2_000)
  if (scheduler.now() < latest) shop.world.count('paid on a chain that is down')
  await payUntilKnown(shop, buyer, payment)
}
