import type { PaymentPayload } from '../../../src/protocol/payment.ts'
import type { SignedAuthorization } from '../../../src/schemes/exact/authorization.ts'
import type { Tx } from '../chain/branch.ts'
import { askTerms, type Buyer, payUntilKnown, type Shop, see, sign } from './shop.ts'
import type { WireIntent } from './wire.ts'

/** What everybody can read: authorizations in blocks and in the pool, and ids that leaked. */
export interface Public {
  authorizations(): SignedAuthorization[]
  /** requestId and challengeId prove nothing, so a thief may know them. */
  ids(): Array<{ requestId: string; challengeId: string; planId: string }>
}

export function authorizationsIn(transactions: Iterable<Tx>): SignedAuthorization[] {
  return [...transactions].flatMap(({ actions }) =>
    actions.flatMap((action) => (action.kind === 'authorized' ? [action.auth] : [])),
  )
}

/** A payload rebuilt from calldata: with ids of its own, with the victim's, or with a guessed salt. */
function rebuilt(shop: Shop, thief: Buyer, loot: SignedAuthorization, known: Public, own: PaymentPayload) {
  const { dice } = shop.world
  const { signature, ...authorization } = loot
  const victim = known.ids().length > 0 && dice.chance(0.7) ? dice.pick(known.ids()) : undefined
  const salt = dice.pick([undefined, own.accepted!.extra!.salt, Buffer.alloc(16).toString('base64url')])
  const extra = victim ? { ...victim, ...(salt !== undefined && { salt }) } : own.accepted!.extra
  const payment: PaymentPayload = {
    x402Version: 2,
    payload: { signature, authorization: { ...authorization } },
    accepted: { ...own.accepted, amount: authorization.value, extra },
  }
  const intent: WireIntent = { transport: 'http', planId: victim?.planId ?? thief.planId, payment }
  return intent
}

/** Tries to get a result with somebody else's payment. */
export function steal(known: Public) {
  return async (shop: Shop, thief: Buyer): Promise<void> => {
    const { dice, scheduler, weather } = shop.world
    const terms = await askTerms(shop, thief)
    if (!terms) return
    const own = sign(shop, thief, terms)
    for (let turn = 0; turn < 6; turn++) {
      await scheduler.sleep(dice.int(500, Math.round(weather.horizonMs / 6)))
      const public_ = known.authorizations().filter(({ from }) => from !== thief.address)
      if (public_.length === 0) continue
      shop.world.count('thefts tried')
      const loot = dice.pick(public_)
      const intent = rebuilt(shop, thief, loot, known, own)
      const reply = see(shop, thief, 'steal', await shop.ask(intent))
      const granted = typeof reply !== 'string' && reply.kind === 'granted'
      // A payment under way whose claim was lost belongs to the first request that shows it.
      if (granted && !wasLost(shop, loot)) {
        shop.world.violate('I7', `${thief.name} got ${reply.grant.challengeId} with somebody else's payment`)
      }
    }
  }
}

function wasLost({ world }: Shop, { nonce }: SignedAuthorization): boolean {
  return [...world.lost.payments].some((key) => key.endsWith(nonce))
}

/** Pays with its own money, but on a request that somebody else opened. */
export function intrude(known: Public) {
  return async (shop: Shop, stranger: Buyer): Promise<void> => {
    const { dice, scheduler } = shop.world
    await scheduler.sleep(dice.skewed(500, 30_000))
    const named = known.ids()
    if (named.length === 0) return
    const { requestId, planId } = dice.pick(named)
    stranger.requestId = requestId
    stranger.planId = dice.chance(0.8) ? planId : stranger.planId
    const terms = await askTerms(shop, stranger, 4)
    if (!terms) return
    shop.world.count('intrusions tried')
    await payUntilKnown(shop, stranger, sign(shop, stranger, terms))
  }
}
