import type { SignedPermit } from '../../../src/schemes/upto/permit.ts'
import { tokensOf } from '../chain/branch.ts'
import { UNLIMITED } from '../chain/permit2.ts'
import { signPermit } from '../keys.ts'
import { address, METERED_ROUTE } from '../world.ts'
import type { WirePayment } from './credential.ts'
import { buyHonestly, buyInParallel } from './honest.ts'
import { askTerms, type Buyer, chainOf, paidIntent, payUntilKnown, type Shop, see, sign } from './shop.ts'
import { proveUntilKnown } from './transfers.ts'

const SINK = address('sink', 2)

function sellMetered(buyer: Buyer, topic = buyer.name): void {
  const { routeId, method } = METERED_ROUTE
  buyer.route = { routeId, call: { method, path: `/chat/${topic}`, headers: {}, body: null } }
  buyer.planId = routeId
}

/** Makes one metered call, and sends the same payment until it knows. */
export async function meterHonestly(shop: Shop, buyer: Buyer): Promise<void> {
  sellMetered(buyer)
  if (shop.world.meterDice.chance(0.3)) buyer.route = { ...buyer.route, embedded: true }
  await (shop.world.meterDice.chance(0.3) ? buyInParallel(shop, buyer) : buyHonestly(shop, buyer))
}

/** One payload ten times at once: one call, one charge, one answer. */
export async function replayManyTimes(shop: Shop, buyer: Buyer): Promise<void> {
  sellMetered(buyer)
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const payment = sign(shop, buyer, terms)
  await Promise.all(Array.from({ length: 10 }, () => payUntilKnown(shop, buyer, payment)))
}

/** More calls at once than its allowance covers. */
export async function callMeteredAtOnce(shop: Shop, buyer: Buyer): Promise<void> {
  await Promise.all(
    Array.from({ length: 6 }, async (_, turn) => {
      const one = { ...buyer, name: `${buyer.name}-${turn}`, requestId: undefined }
      sellMetered(one)
      const terms = await askTerms(shop, one)
      if (!terms) return
      shop.world.count('metered calls at once')
      await payUntilKnown(shop, one, sign(shop, one, terms, { validSeconds: 300 }), 6)
    }),
  )
}

/** Pays once, and comes back for more at once when that is final. */
export async function callAgain(shop: Shop, buyer: Buyer): Promise<void> {
  const { streamDice: dice, scheduler, weather } = shop.world
  const first = { ...buyer, requestId: undefined }
  sellMetered(first, `${buyer.name}-first`)
  const terms = await askTerms(shop, first)
  if (!terms) return
  await payUntilKnown(shop, first, sign(shop, first, terms, { validSeconds: 300 }), 8)
  await scheduler.sleep(dice.int(0, weather.blockMs * weather.finalityBlocks + 30_000))
  await callMeteredAtOnce(shop, buyer)
}

/** Pays once, and when that is final reads two answers without paying: it takes its allowance back while they go out. */
export async function readUnpaid(shop: Shop, buyer: Buyer): Promise<void> {
  const { streamDice: dice, scheduler, weather } = shop.world
  const call = async (topic: string): Promise<void> => {
    const one = { ...buyer, name: `${buyer.name}-${topic}`, requestId: undefined }
    sellMetered(one, `slow-${one.name}`)
    const terms = await askTerms(shop, one)
    if (!terms) return
    const payment = sign(shop, one, terms, { validSeconds: 120 })
    if (topic !== 'first') {
      const drop = (): void =>
        void chainOf(shop, payment).send([{ kind: 'approve', owner: buyer.address, amount: 0n }])
      scheduler.after(dice.int(0, 3_000), drop, true)
    }
    await payUntilKnown(shop, one, payment, 4)
  }
  await call('first')
  await scheduler.sleep(weather.blockMs * weather.finalityBlocks + dice.int(5_000, 20_000))
  await Promise.all([call('second'), call('third')])
}

/** Pays, and takes back on the chain what it promised: before, meanwhile or after. */
function meddler(meddle: (shop: Shop, buyer: Buyer, payment: WirePayment) => void) {
  return async (shop: Shop, buyer: Buyer): Promise<void> => {
    const { meterDice: dice, scheduler, weather } = shop.world
    for (let turn = 0; turn < 3; turn++) {
      const one = { ...buyer, requestId: undefined }
      sellMetered(one, `slow-${buyer.name}-${turn}`)
      const terms = await askTerms(shop, one)
      if (!terms) return
      const payment = sign(shop, one, terms, { validSeconds: dice.pick([120, 300, 900]) })
      // Often while the call is under way.
      const { deliveryLeaseMs } = weather.config
      const afterMs = dice.chance(0.5) ? dice.int(0, deliveryLeaseMs) : dice.skewed(0, 30_000)
      scheduler.after(afterMs, () => meddle(shop, one, payment), true)
      await payUntilKnown(shop, one, payment, 8)
      await scheduler.sleep(dice.skewed(0, 20_000))
    }
  }
}

export const dropAllowance = meddler((shop, { address: owner }, payment) => {
  const { meterDice, scheduler } = shop.world
  const chain = chainOf(shop, payment)
  shop.world.count('allowances dropped')
  chain.send([{ kind: 'approve', owner, amount: meterDice.pick([0n, 0n, 1000n]) }])
  if (meterDice.chance(0.6)) {
    const restore = (): void => void chain.send([{ kind: 'approve', owner, amount: UNLIMITED }])
    scheduler.after(meterDice.skewed(2_000, 120_000), restore, true)
  }
})

/** Makes many calls at once, and takes the allowance back while their transactions wait for a block. */
export async function dropWhileMany(shop: Shop, buyer: Buyer): Promise<void> {
  const { meterDice: dice, scheduler } = shop.world
  const waiting = (): number =>
    [...shop.chains[0]!.pool.values()].filter(({ actions }) => {
      return actions.some((action) => action.kind === 'settle' && action.permit.from === buyer.address)
    }).length
  const calling = callMeteredAtOnce(shop, buyer)
  for (let turn = 0; turn < 60 && waiting() < 3; turn++) await scheduler.sleep(1_000)
  await scheduler.sleep(dice.int(0, 20_000))
  if (waiting() > 2) shop.world.count('allowances dropped under three transactions')
  shop.chains[0]!.send([{ kind: 'approve', owner: buyer.address, amount: 0n }])
  await calling
}

export const emptyWallet = meddler((shop, { address: from }, payment) => {
  const { meterDice, scheduler } = shop.world
  const chain = chainOf(shop, payment)
  shop.world.count('wallets emptied')
  const value = tokensOf(chain.head(), chain.token.initial, from)
  chain.send([{ kind: 'transfer', from, to: SINK, value }])
  if (meterDice.chance(0.5)) {
    const back = (): void => void chain.send([{ kind: 'transfer', from: SINK, to: from, value }])
    scheduler.after(meterDice.skewed(2_000, 120_000), back, true)
  }
})

export const invalidateNonce = meddler((shop, { address: owner }, payment) => {
  shop.world.count('nonces given up')
  chainOf(shop, payment).send([{ kind: 'invalidate', owner, nonce: payment.permit!.nonce }])
})

/** Shows the permits of others, which are public once they are on their way to the chain, for calls of its own. */
export async function stealMetered(shop: Shop, thief: Buyer): Promise<void> {
  const { meterDice: dice, scheduler, weather } = shop.world
  sellMetered(thief)
  const terms = await askTerms(shop, thief)
  if (!terms) return
  const own = sign(shop, thief, terms)
  for (let turn = 0; turn < 6; turn++) {
    await scheduler.sleep(dice.int(500, Math.round(weather.horizonMs / 6)))
    const chain = chainOf(shop, own)
    const seen = [...chain.pool.values(), ...chain.branch.mined.map(({ tx }) => tx)].flatMap(({ actions }) =>
      actions.flatMap((action) => (action.kind === 'settle' ? [action.permit] : [])),
    )
    const strange = seen.filter(({ from }) => from !== thief.address)
    if (strange.length === 0) continue
    shop.world.count('permits shown by strangers')
    const { charge: _, ...permit } = dice.pick(strange)
    const reply = see(shop, thief, 'steal', await shop.ask(paidIntent(shop, thief, { ...own, permit })))
    const got =
      typeof reply !== 'string' && reply.kind === 'resource' && reply.response.resource.status === 200
    if (got && !shop.world.lost.payers.has(permit.from))
      shop.world.violate('I7', `${thief.name} got an answer with somebody else's permit`)
  }
}

/** Shows the settlements of its metered calls as plain transfers: some are as much as a plan costs. */
export async function showSettlements(shop: Shop, buyer: Buyer): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    const one = { ...buyer, requestId: undefined }
    sellMetered(one, `${buyer.name}-${turn}`)
    const terms = await askTerms(shop, one)
    if (terms) await payUntilKnown(shop, one, sign(shop, one, terms, { validSeconds: 300 }), 8)
  }
  const plan: Buyer = { ...buyer, planId: 'basic', transport: 'a2a', requestId: `plan-${buyer.name}` }
  const terms = await askTerms(shop, plan)
  if (!terms) return
  for (const chain of shop.chains) {
    for (const { tx, logs } of [...chain.branch.mined]) {
      if (!logs.some((log) => log.kind === 'permit' && log.owner === buyer.address)) continue
      shop.world.count('settlements shown as transfers')
      const reply = await proveUntilKnown(
        shop,
        plan,
        terms.challengeId,
        { txHash: tx.hash, chain },
        { patience: 4 },
      )
      if (typeof reply !== 'string' && reply.kind === 'granted')
        shop.world.violate('I4', `${buyer.name} bought a plan with the settlement of a metered call`)
    }
  }
}

/** Signs or says something else than what was asked. Nothing may come of it. */
export async function tamperPermit(shop: Shop, buyer: Buyer): Promise<void> {
  const { meterDice: dice } = shop.world
  sellMetered(buyer)
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  for (let turn = 0; turn < 3; turn++) {
    const payment = sign(shop, buyer, terms, { validSeconds: 300 })
    const { network } = chainOf(shop, payment)
    const signed = payment.permit!
    const wrong: Partial<SignedPermit> = dice.pick([
      { amount: String(BigInt(signed.amount) - 1n) },
      { amount: String(BigInt(signed.amount) + 1n) },
      { to: SINK },
      { facilitator: buyer.address },
      { spender: buyer.address },
      { token: SINK },
      { deadline: String(Number(signed.deadline) + 100_000) },
      { validAfter: signed.deadline },
    ])
    const permit = { ...signed, ...wrong }
    // Some sign the wrong words, others change what was signed.
    if (dice.chance(0.7)) permit.signature = signPermit(permit, network)
    shop.world.count('tampered permits')
    const reply = see(
      shop,
      buyer,
      'tampered',
      await shop.ask(paidIntent(shop, buyer, { ...payment, permit })),
    )
    if (typeof reply !== 'string' && reply.kind === 'resource')
      shop.world.violate('I22', `${buyer.name} got a call for a tampered permit`)
  }
}
