import type { Hex } from '../../../src/protocol/hex.ts'
import type { PaymentRequired } from '../../../src/protocol/payment.ts'
import { signText } from '../keys.ts'
import { PAY_TO } from '../world.ts'
import { askTerms, type Buyer, isUnknown, payUntilKnown, type Reply, type Shop, see, sign } from './shop.ts'
import type { WireIntent } from './wire.ts'

/** Pays the price by a plain transfer of the buyer. */
function transfer(shop: Shop, buyer: Buyer, { accepts }: PaymentRequired, off = 0n): Hex {
  shop.world.count('plain transfers')
  const value = BigInt(accepts[0]!.amount) + off
  return shop.chains[0]!.send([{ kind: 'transfer', from: buyer.address, to: PAY_TO, value }])
}

function proofIntent(buyer: Buyer, challengeId: string, txHash: Hex): WireIntent {
  const signature = signText(buyer.address, `${challengeId}:${txHash}`)
  return { transport: 'a2a', challengeId, proof: { txHash, signature } }
}

async function proveUntilKnown(shop: Shop, buyer: Buyer, challengeId: string, txHash: Hex): Promise<Reply> {
  const { dice, scheduler } = shop.world
  const intent = proofIntent(buyer, challengeId, txHash)
  buyer.proofs.push(intent)
  for (let turn = 0; ; turn++) {
    const reply = see(shop, buyer, `prove ${txHash.slice(-6)}`, await shop.ask(intent))
    if (!isUnknown(reply) || turn >= 25) return reply
    await scheduler.sleep(dice.skewed(500, 30_000))
  }
}

/** Pays by a transfer of its own; now and then by an authorization as well, or with the wrong amount. */
export async function payByTransfer(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice, scheduler } = shop.world
  buyer.transport = 'a2a'
  buyer.requestId ??= `transfer-${buyer.name}`
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const txHash = transfer(shop, buyer, terms, dice.chance(0.1) ? 1n : 0n)
  await scheduler.sleep(dice.skewed(0, 20_000))
  const ways = [proveUntilKnown(shop, buyer, terms.challengeId, txHash)]
  if (dice.chance(0.3)) ways.push(payUntilKnown(shop, buyer, sign(shop, buyer, terms)))
  if (dice.chance(0.3)) ways.push(proveUntilKnown(shop, buyer, terms.challengeId, txHash))
  await Promise.all(ways)
}

/** One transfer for two orders of its own. */
export async function proveForTwo(shop: Shop, buyer: Buyer): Promise<void> {
  buyer.transport = 'a2a'
  buyer.requestId = `first-${buyer.name}`
  const first = await askTerms(shop, buyer)
  buyer.requestId = `second-${buyer.name}`
  const second = await askTerms(shop, buyer)
  if (!first || !second) return
  const txHash = transfer(shop, buyer, first)
  const ids = [first.challengeId, second.challengeId]
  await Promise.all(ids.map((challengeId) => proveUntilKnown(shop, buyer, challengeId, txHash)))
}

/** Shows somebody else's transfer, or its own old one, as proof. */
export async function claimStrangersTransfer(shop: Shop, thief: Buyer): Promise<void> {
  const { dice, scheduler, weather } = shop.world
  thief.transport = 'a2a'
  thief.requestId ??= `thief-${thief.name}`
  const terms = await askTerms(shop, thief)
  if (!terms) return
  for (let turn = 0; turn < 10; turn++) {
    await scheduler.sleep(dice.skewed(500, Math.round(weather.horizonMs / 6)))
    const seen = shop.chains[0]!.branch.mined.filter(({ logs }) => {
      return logs.some((log) => log.kind === 'transfer' && log.to === PAY_TO && log.from !== thief.address)
    })
    if (seen.length === 0) continue
    shop.world.count('transfers claimed by strangers')
    const intent = proofIntent(
      thief,
      terms.challengeId,
      (dice.chance(0.7) ? seen.at(-1)! : dice.pick(seen)).tx.hash,
    )
    const reply = see(shop, thief, 'claim', await shop.ask(intent))
    if (typeof reply !== 'string' && reply.kind === 'granted') {
      shop.world.violate('I7', `${thief.name} got ${reply.grant.challengeId} by somebody else's transfer`)
    }
  }
}
