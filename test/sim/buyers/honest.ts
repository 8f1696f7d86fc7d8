import { askTerms, type Buyer, payUntilKnown, type Reply, type Shop, see, sign, termsIntent } from './shop.ts'
import type { WireRequired } from './wire.ts'

/** What a buyer may sign next after a definite answer; undefined when it is over. */
async function nextTerms(shop: Shop, buyer: Buyer, reply: Reply): Promise<WireRequired | undefined> {
  const { dice, scheduler, weather } = shop.world
  if (typeof reply === 'string' || reply.kind !== 'failed') return undefined
  // Some take their time, in which the challenge may run out.
  if (dice.chance(0.3)) await scheduler.sleep(dice.int(0, weather.config.challengeTtlMs))
  if (reply.error.code === 'PAYMENT_FAILED' && reply.required && dice.chance(0.8)) return reply.required
  if (reply.error.code === 'CHALLENGE_EXPIRED' && dice.chance(0.6)) return askTerms(shop, buyer)
  return undefined
}

/** Asks, signs, sends, and sends the same again until it knows; signs anew only after a definite failure. */
export async function buyHonestly(shop: Shop, buyer: Buyer): Promise<void> {
  let terms = await askTerms(shop, buyer)
  const doubts: Array<Promise<void>> = []
  for (let turn = 0; terms && turn < 3; turn++) {
    const reply = await payUntilKnown(shop, buyer, sign(shop, buyer, terms))
    // After "expired" it starts anew instead: what it was told is that nothing was charged.
    const expired = buyer.refusals.at(-1) === 'CHALLENGE_EXPIRED'
    if (!expired && shop.world.dice.chance(0.3)) doubts.push(askAgain(shop, buyer))
    terms = await nextTerms(shop, buyer, reply)
  }
  await Promise.all(doubts)
}

/** Does not believe the answer, and sends the same payload a few times more. */
async function askAgain(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice, scheduler } = shop.world
  const { intent } = buyer.payments.at(-1)!
  for (let turn = 0; turn < 4; turn++) {
    await scheduler.sleep(dice.int(500, 10_000))
    see(shop, buyer, 'again', await shop.ask(intent))
  }
}

/** One payload to several instances at once. */
export async function buyInParallel(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice } = shop.world
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const payment = sign(shop, buyer, terms)
  const copies = Array.from({ length: dice.int(2, 5) }, () => payUntilKnown(shop, buyer, payment))
  await Promise.all(copies)
}

/** Like the official client: never resends, but asks again and signs anew. Its requestId keeps it from paying twice. */
export async function buyForgetfully(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice, scheduler } = shop.world
  buyer.requestId ??= `forgetful-${buyer.name}`
  for (let turn = 0; turn < 4; turn++) {
    const terms = await askTerms(shop, buyer)
    if (!terms) return
    const payment = sign(shop, buyer, terms)
    const intent = { ...termsIntent(buyer), payment }
    buyer.payments.push({ intent, payment })
    const reply = see(shop, buyer, 'pay anew', await shop.ask(intent))
    if (typeof reply !== 'string' && reply.kind === 'granted') return
    await scheduler.sleep(dice.skewed(1_000, 30_000))
  }
}

/** Two different authorizations for one challenge, at once. */
export async function signTwice(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice } = shop.world
  if (dice.chance(0.5)) buyer.requestId ??= `twice-${buyer.name}`
  const first = await askTerms(shop, buyer)
  const second = buyer.requestId === undefined || dice.chance(0.5) ? first : await askTerms(shop, buyer)
  const both = [first, second].flatMap((terms) => (terms ? [sign(shop, buyer, terms)] : []))
  await Promise.all(both.map((payment) => payUntilKnown(shop, buyer, payment)))
}
