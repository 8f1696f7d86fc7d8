import { encodeUrl } from '../../../src/dialects/mpp/words.ts'
import type { ChallengeJson } from '../../../src/dialects/mpp/write-challenges.ts'
import type { Accepted, PaymentPayload } from '../../../src/protocol/payment.ts'
import type { SignedAuthorization } from '../../../src/schemes/exact/authorization.ts'
import type { Tx } from '../chain/branch.ts'
import { credentialOf, signCredential } from './credential.ts'
import { askTerms, type Buyer, chainOf, payUntilKnown, type Shop, see, sign } from './shop.ts'
import type { WireIntent, WireRequired } from './wire.ts'

/** What everybody can read: authorizations in blocks and in the pool, and ids that leaked. */
export interface Public {
  authorizations(): SignedAuthorization[]
  /** requestId and challengeId prove nothing, so a thief may know them. */
  ids(): LeakedIds[]
  /** Challenges of MPP whose id a thief has learned, and who was told them. */
  challenges(): Array<{ challenge: ChallengeJson; accepted: Accepted; planId: string; owner: string }>
}

interface LeakedIds {
  requestId: string
  challengeId: string
  planId: string
  /** Who pays it. */
  payer: string
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
  const guess = dice.pick([undefined, own.accepted!.extra!.salt, Buffer.alloc(16).toString('base64url')])
  const salt = victim && shop.world.mppDice.chance(0.3) ? victim.challengeId : guess
  const extra = victim ? { ...idsOf(victim), ...(salt !== undefined && { salt }) } : own.accepted!.extra
  const payment: PaymentPayload = {
    x402Version: 2,
    payload: { signature, authorization: { ...authorization } },
    accepted: { ...own.accepted, amount: authorization.value, extra },
  }
  const intent: WireIntent = { transport: 'http', planId: victim?.planId ?? thief.planId, payment }
  return intent
}

const idsOf = ({ payer: _payer, ...ids }: LeakedIds) => ids

/** A credential rebuilt from calldata and the victim's public ids: only the id's salt, or its nonce's origin, is missing. */
function rebuiltCredential(shop: Shop, loot: SignedAuthorization, known: Public, terms: WireRequired) {
  const { mppDice } = shop.world
  const victims = known.ids().filter(({ payer }) => payer === loot.from)
  const [template] = terms.challenges
  if (victims.length === 0 || !template) return undefined
  const victim = mppDice.pick(victims)
  const { signature, ...authorization } = loot
  const [accepted] = terms.accepts
  const salt = mppDice.pick([
    accepted!.extra.salt,
    Buffer.alloc(16).toString('base64url'),
    victim.challengeId,
    loot.nonce,
  ])
  const { planId, requestId } = victim
  const challenge: ChallengeJson = {
    ...template,
    id: `${victim.challengeId}.${salt}`,
    expires: new Date(Number(authorization.validBefore) * 1000).toISOString(),
    request: { ...template.request, amount: authorization.value },
    opaque: encodeUrl({ planId, requestId, resourceId: 'default' }),
  }
  const payment = credentialOf(
    authorization,
    signature,
    challenge,
    accepted!,
    chainOf(shop, { accepted }).network,
  )
  const intent: WireIntent = { transport: 'http', planId, payment }
  return intent
}

/** Tries to get a result with somebody else's payment. */
export function steal(known: Public) {
  return async (shop: Shop, thief: Buyer): Promise<void> => {
    const { dice, mppDice, scheduler, weather } = shop.world
    const terms = await askTerms(shop, thief)
    if (!terms) return
    const own = sign(shop, thief, terms)
    for (let turn = 0; turn < 6; turn++) {
      await scheduler.sleep(dice.int(500, Math.round(weather.horizonMs / 6)))
      const public_ = known.authorizations().filter(({ from }) => from !== thief.address)
      if (public_.length === 0) continue
      shop.world.count('thefts tried')
      const loot = dice.pick(public_)
      const credential = mppDice.chance(0.5) && rebuiltCredential(shop, loot, known, terms)
      if (credential) shop.world.count('thefts tried by MPP')
      const intent = credential || rebuilt(shop, thief, loot, known, own)
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

/** Has learned the id of somebody's challenge, and answers it with its own wallet and its own money. */
export function answerStrangersChallenge(known: Public) {
  return async (shop: Shop, thief: Buyer): Promise<void> => {
    const { mppDice, scheduler, weather } = shop.world
    thief.requestId = undefined
    for (let turn = 0; turn < 3; turn++) {
      await scheduler.sleep(mppDice.skewed(200, Math.round(weather.horizonMs / 4)))
      const strange = known.challenges().filter(({ owner }) => owner !== thief.name)
      if (strange.length === 0) continue
      const { challenge, accepted, planId } = mppDice.pick(strange)
      thief.planId = planId
      shop.world.count('ids answered by strangers')
      const { network } = chainOf(shop, { accepted })
      await payUntilKnown(shop, thief, signCredential(thief.address, challenge, accepted, network), 6)
    }
  }
}

/** Sends to the chain itself what it sees on its way there. Whoever sends it, it pays what it was signed for. */
export async function frontRun(shop: Shop): Promise<void> {
  const { mppDice, scheduler } = shop.world
  for (let turn = 0; turn < 40; turn++) {
    await scheduler.sleep(mppDice.int(200, 3_000))
    for (const chain of shop.chains) {
      const [seen] = authorizationsIn(chain.pool.values())
      if (!seen) continue
      shop.world.count('sent by strangers')
      chain.send([{ kind: 'authorized', auth: seen }])
    }
  }
}
