import type { Hex } from '../../../src/protocol/hex.ts'
import type { PaymentRequired } from '../../../src/protocol/payment.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import { signText } from '../keys.ts'
import { PAY_TO } from '../world.ts'
import { askTerms, type Buyer, isUnknown, payUntilKnown, type Reply, type Shop, see, sign } from './shop.ts'
import type { WireIntent } from './wire.ts'

/** A plain transfer, and the chain that it was made on. */
interface Made {
  txHash: Hex
  chain: SimChain
}

/** Pays the price by a plain transfer of the buyer, on one of the chains. */
function transfer(shop: Shop, buyer: Buyer, { accepts }: PaymentRequired, off = 0n): Made {
  const { extraDice } = shop.world
  const chain = shop.chains.length > 1 ? extraDice.pick(shop.chains) : shop.chains[0]!
  shop.world.count('plain transfers')
  if (chain !== shop.chains[0]) shop.world.count('plain transfers on another chain')
  const value = BigInt(accepts[0]!.amount) + off
  return { chain, txHash: chain.send([{ kind: 'transfer', from: buyer.address, to: PAY_TO, value }]) }
}

/** The network of the preferred chain need not be named. */
function proofIntent(shop: Shop, buyer: Buyer, challengeId: string, { txHash, chain }: Made): WireIntent {
  const signature = signText(buyer.address, `${challengeId}:${txHash}`)
  const named = chain !== shop.chains[0] && { network: chain.network.id }
  return { transport: 'a2a', challengeId, proof: { txHash, signature, ...named } }
}

export async function proveUntilKnown(
  shop: Shop,
  buyer: Buyer,
  challengeId: string,
  made: Made,
  { patience = 25, offer = {} }: { patience?: number; offer?: Pick<WireIntent, 'planId' | 'requestId'> } = {},
): Promise<Reply> {
  const { dice, scheduler } = shop.world
  const { txHash } = made
  const intent = { ...proofIntent(shop, buyer, challengeId, made), ...offer }
  buyer.proofs.push(intent)
  for (let turn = 0; ; turn++) {
    const reply = see(shop, buyer, `prove ${txHash.slice(-6)}`, await shop.ask(intent))
    if (!isUnknown(reply) || turn >= patience) return reply
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
  const made = transfer(shop, buyer, terms, dice.chance(0.1) ? 1n : 0n)
  await scheduler.sleep(dice.skewed(0, 20_000))
  const ways = [proveUntilKnown(shop, buyer, terms.challengeId, made)]
  if (dice.chance(0.3)) ways.push(payUntilKnown(shop, buyer, sign(shop, buyer, terms)))
  if (dice.chance(0.3)) ways.push(proveUntilKnown(shop, buyer, terms.challengeId, made))
  await Promise.all(ways)
}

/** Says nothing of its transfer until the record of the offer may be deleted, and then repeats the offer. */
export async function proveLate(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice, scheduler, weather } = shop.world
  buyer.transport = 'a2a'
  buyer.requestId ??= `late-${buyer.name}`
  const { planId, requestId } = buyer
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const made = transfer(shop, buyer, terms)
  await scheduler.sleep(weather.config.challengeTtlMs * dice.int(1, 6))
  const offer = { planId, requestId }
  const proofs = Array.from({ length: dice.int(1, 3) }, () => {
    return proveUntilKnown(shop, buyer, terms.challengeId, made, { patience: 60, offer })
  })
  for (const reply of await Promise.all(proofs)) {
    if (typeof reply === 'string' || reply.kind !== 'failed') continue
    shop.world.count(`late proofs ${reply.error.code}`)
    const { success } = made.chain.branch.mined.find(({ tx }) => tx.hash === made.txHash) ?? {}
    if (reply.error.code === 'CHALLENGE_NOT_FOUND' && success)
      shop.world.violate('PROMISE', `${buyer.name} paid by a transfer and was told that there is no offer`)
  }
}

/** One transfer for two orders of its own. */
export async function proveForTwo(shop: Shop, buyer: Buyer): Promise<void> {
  buyer.transport = 'a2a'
  buyer.requestId = `first-${buyer.name}`
  const first = await askTerms(shop, buyer)
  buyer.requestId = `second-${buyer.name}`
  const second = await askTerms(shop, buyer)
  if (!first || !second) return
  const made = transfer(shop, buyer, first)
  const ids = [first.challengeId, second.challengeId]
  await Promise.all(ids.map((challengeId) => proveUntilKnown(shop, buyer, challengeId, made)))
}

/** Shows somebody else's transfer, or its own old one, as proof. */
export async function claimStrangersTransfer(shop: Shop, thief: Buyer): Promise<void> {
  const { dice, extraDice, scheduler, weather } = shop.world
  thief.transport = 'a2a'
  thief.requestId ??= `thief-${thief.name}`
  const terms = await askTerms(shop, thief)
  if (!terms) return
  for (let turn = 0; turn < 10; turn++) {
    await scheduler.sleep(dice.skewed(500, Math.round(weather.horizonMs / 6)))
    const chain = shop.chains.length > 1 ? extraDice.pick(shop.chains) : shop.chains[0]!
    const seen = chain.branch.mined.filter(({ logs }) => {
      return logs.some((log) => log.kind === 'transfer' && log.to === PAY_TO && log.from !== thief.address)
    })
    if (seen.length === 0) continue
    shop.world.count('transfers claimed by strangers')
    const { hash: txHash } = (dice.chance(0.7) ? seen.at(-1)! : dice.pick(seen)).tx
    const intent = proofIntent(shop, thief, terms.challengeId, { txHash, chain })
    const reply = see(shop, thief, 'claim', await shop.ask(intent))
    if (typeof reply !== 'string' && reply.kind === 'granted') {
      shop.world.violate('I7', `${thief.name} got ${reply.grant.challengeId} by somebody else's transfer`)
    }
  }
}
