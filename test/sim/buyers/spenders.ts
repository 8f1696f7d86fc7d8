import type { WalletProof } from '../../../src/engine/outcome.ts'
import { signText } from '../keys.ts'
import type { PrepaidReply, WireCall } from '../prepaid.ts'
import { buyHonestly } from './honest.ts'
import type { Buyer, Shop } from './shop.ts'

/** What a thief may have learned: the ids of purchases, and sign-ins that were used. */
export interface Loot {
  purchases: Array<{ planId: string; jti: string; sub: string }>
  proofs: WalletProof[]
}

const PROOF_MS = 300_000

/** The tokens that the buyer holds by now. */
function tokensOf({ world }: Shop, buyer: Buyer): Array<NonNullable<WireCall['token']>> {
  const ids = new Map(
    buyer.heard.flatMap((reply) =>
      reply.kind === 'granted' ? [[reply.grant.challengeId, reply.grant.planId]] : [],
    ),
  )
  const exp = world.scheduler.now() + world.weather.accessMs
  return [...ids].map(([jti, planId]) => ({ sub: buyer.address, planId, jti, exp }))
}

function proofOf({ world, chains }: Shop, buyer: Buyer): WalletProof {
  const { creditDice: dice, scheduler } = world
  const nonce = dice.hex(8)
  const text = `sign in ${nonce}`
  return {
    account: buyer.address,
    network: chains[0]!.network.id,
    text,
    signature: signText(buyer.address, text),
    nonce,
    endsAt: scheduler.now() + PROOF_MS,
  }
}

async function send(shop: Shop, buyer: Buyer, call: WireCall): Promise<PrepaidReply | 'broken' | 'error'> {
  const reply = await shop.spend(call)
  const text =
    typeof reply === 'string' ? reply : reply.kind === 'failed' ? reply.code : cachedText(reply.cached)
  shop.world.note(buyer.name, () => `spends ${JSON.stringify(call)} <- ${text}`)
  shop.world.count(`prepaid ${text}`)
  return reply
}

const cachedText = (cached: boolean): string => (cached ? 'repeated' : 'answered')

/** Is it worth to send the same call again? */
function isOpen(reply: PrepaidReply | string): boolean {
  if (typeof reply === 'string') return true
  return reply.kind === 'failed' && ['SETTLEMENT_PENDING', 'FAILED', 'RATE_LIMITED'].includes(reply.code)
}

/** Buys a plan, or two, and calls until its credits are gone: some calls at once, some under a name, some signed in. */
export function spendCredits(loot: Loot) {
  return async (shop: Shop, buyer: Buyer): Promise<void> => {
    const { creditDice: dice, scheduler } = shop.world
    await buyHonestly(shop, buyer)
    if (dice.chance(0.4)) {
      buyer.planId = dice.pick(['basic', 'pro'])
      buyer.requestId = undefined
      await buyHonestly(shop, buyer)
    }
    const tokens = tokensOf(shop, buyer)
    if (tokens.length === 0) return
    for (const { jti, planId, sub } of tokens) loot.purchases.push({ jti, planId, sub })
    shop.world.count('spenders')
    const bySignIn = dice.chance(0.3)
    const named = dice.chance(0.6)
    let turn = 0

    async function repeat(call: WireCall): Promise<void> {
      for (let tries = dice.int(1, 6); tries > 0; tries--) {
        const proof = bySignIn ? proofOf(shop, buyer) : undefined
        const reply = await send(shop, buyer, {
          ...call,
          ...(proof ? { proof } : { token: dice.pick(tokens) }),
        })
        // Only a proof that was used is worthless to whoever finds it in a log.
        const isUsed =
          typeof reply !== 'string' && !(reply.kind === 'failed' && reply.code === 'UNAUTHORIZED')
        if (proof && isUsed) loot.proofs.push(proof)
        if (!isOpen(reply) && dice.chance(0.8)) return
        // Without a name the same call again is another call.
        if (!named) return
        await scheduler.sleep(dice.skewed(100, 20_000))
      }
    }

    for (let round = dice.int(2, 4); round > 0; round--) {
      const atOnce = Array.from({ length: dice.pick([1, 2, 6]) }, () => {
        const own = turn++
        const call: WireCall = {
          path: `/weather/${own % 3}`,
          // Names that others choose too.
          idempotencyKey: named ? `call-${own}` : undefined,
          embedded: dice.chance(0.2),
        }
        // The same call twice at once, by somebody who is in a hurry.
        return named && dice.chance(0.3) ? [repeat(call), repeat(call)] : [repeat(call)]
      })
      await Promise.all(atOnce.flat())
      await scheduler.sleep(dice.skewed(100, 60_000))
    }
  }
}

/** Has learned ids of purchases and sign-ins that were used, and tries to spend with them. */
export function stealCredits(loot: Loot) {
  return async (shop: Shop, thief: Buyer): Promise<void> => {
    const { creditDice: dice, scheduler, weather } = shop.world
    for (let turn = 0; turn < 6; turn++) {
      await scheduler.sleep(dice.int(500, Math.round(weather.horizonMs / 6)))
      const call = { path: '/weather/0', idempotencyKey: dice.chance(0.5) ? 'call-0' : undefined }
      const forged = forge(shop, thief, loot)
      if (!forged) continue
      shop.world.count('credit thefts tried')
      const reply = await send(shop, thief, { ...call, ...forged })
      // A store that loses its last second may forget that a sign-in was used; only then is it accepted again.
      const mayBeForgotten = weather.losses > 0 && loot.proofs.some((one) => one === forged.proof)
      if (typeof reply !== 'string' && reply.kind === 'answered' && !mayBeForgotten)
        shop.world.violate('I20', `${thief.name} spent somebody else's credits`)
    }
  }
}

function forge({ world }: Shop, thief: Buyer, { purchases, proofs }: Loot): Partial<WireCall> | undefined {
  const { creditDice: dice, scheduler } = world
  if (dice.chance(0.5)) {
    const used = proofs.filter(({ account }) => account !== thief.address)
    if (used.length === 0) return undefined
    const proof = dice.pick(used)
    if (dice.chance(0.6)) return { proof }
    // Signed by the thief, in the name of its victim.
    const text = `sign in ${thief.name}${proof.nonce}`
    const signature = signText(thief.address, text)
    return { proof: { ...proof, nonce: `${thief.name}${proof.nonce}`, text, signature } }
  }
  if (purchases.length === 0) return undefined
  const { jti, planId } = dice.pick(purchases)
  return { token: { sub: thief.address, planId, jti, exp: scheduler.now() + 60_000 } }
}
