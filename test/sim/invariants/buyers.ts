import type { Buyer } from '../buyers/shop.ts'
import { PAY_TO, PRICES, REFUND_WALLET } from '../world.ts'
import { sum } from './ledger.ts'
import type { Scene } from './scene.ts'

/** I2, I3, I7 and the promise to buyers, from what they saw and what the chain says. */
export function checkBuyers(scene: Scene): void {
  for (const buyer of scene.buyers) {
    checkGrants(scene, buyer)
    if (scene.forgiven.payer(buyer.address)) checkForgiven(scene, buyer)
    else if (buyer.honest) checkPromise(scene, buyer)
  }
  checkRequests(scene)
}

/** I3, I7: a buyer that has a result has paid for it on the chain. */
function checkGrants(scene: Scene, buyer: Buyer): void {
  const { world, income, receipts, authorizations, challenges, forgiven } = scene
  const challengeIds = new Set(buyer.grants.map(({ challengeId }) => challengeId))
  const tokens = new Set(buyer.grants.map(({ accessToken }) => accessToken))
  if (tokens.size !== challengeIds.size)
    world.violate('I2', `${buyer.name} got different results for one purchase`)
  for (const challengeId of challengeIds) {
    // Its grant was in a lost commit; checkForgiven has the rules that still hold.
    if (forgiven.challenge(challengeId)) continue
    const own = authorizations.filter((row) => row.challengeId === challengeId && row.payer === buyer.address)
    const keys = [
      ...own.map(({ key }) => key),
      ...[...receipts.values()]
        .filter((row) => row.challengeId === challengeId && row.payer === buyer.address)
        .map(({ key }) => key),
    ]
    const paid = keys.some((key) => {
      return income.get(key)?.from === buyer.address && receipts.get(key)?.role === 'pays'
    })
    const lost = keys.some((key) => receipts.get(key)?.lost)
    const state = challenges.get(challengeId)?.state
    if (state !== 'DELIVERED')
      world.violate('I1', `${buyer.name} holds a result of ${challengeId}, which is ${state}`)
    if (!paid && !lost && !isFree(scene, challengeId, buyer))
      world.violate('I3', `${buyer.name} holds a result of ${challengeId} and did not pay for it`)
  }
  world.count('grants held', challengeIds.size)
}

/**
 * I3, I4 for a buyer of whom the store lost something: whatever became of its records, each result that it holds has a
 * payment of its own on the chain. Only plain transfers are not counted: the token knows no nonce for them, so one
 * that is forgotten can be shown for another order.
 */
function checkForgiven(scene: Scene, buyer: Buyer): void {
  const { world, income, receipts, outside } = scene
  const ids = new Set(buyer.grants.map(({ challengeId }) => challengeId))
  const granted = [...ids].filter((challengeId) => !isFree(scene, challengeId, buyer)).length
  const paid = [...income.values()].filter(({ from }) => from === buyer.address).length
  const lost = [...receipts.values()].filter((row) => row.lost && row.payer === buyer.address).length
  const hidden = buyer.payments.some(({ payment: { payload } }) => {
    const { from, nonce } = payload.authorization
    return outside.staleLooks.has(`${from}:${nonce}`)
  })
  world.count('buyers of whom something was lost')
  // Both chain and store have lost the payment, so nothing can be compared.
  if (world.counters.has('transactions reorganised')) return
  if (granted > 0 && paid + lost === 0)
    world.violate('I3', `${buyer.name} holds ${granted} results and paid nothing`)
  if (granted > paid + lost && buyer.proofs.length === 0 && !hidden)
    world.violate('I4', `${buyer.name} holds ${granted} results for ${paid} payments`)
}

/** A metered call of this buyer cost nothing. */
function isFree({ recorded }: Scene, challengeId: string, { address }: Buyer): boolean {
  return recorded.meter.calls.some((call) => {
    return call.challengeId === challengeId && call.payer === address && call.charge === 0n
  })
}

/** A buyer that follows the rules is charged at most once, and has what it was charged for. */
function checkPromise({ world, income, transfers, refunds }: Scene, buyer: Buyer): void {
  const paid = sum(
    [...income.values()].filter(({ from }) => from === buyer.address).map(({ value }) => value),
  )
  const back = sum(
    transfers
      .filter(({ from, to }) => to === buyer.address && (from === REFUND_WALLET || from === PAY_TO))
      .map(({ value }) => value),
  )
  const owed = sum(
    [...refunds.values()]
      .filter(({ recipient, phase }) => recipient === buyer.address && phase !== 'DONE' && phase !== 'VOID')
      .map(({ value }) => BigInt(value)),
  )
  const price = PRICES.get(buyer.planId)!.at(-1)!
  const net = paid - back - owed
  if (net > price) world.violate('I2', `${buyer.name} was charged ${net} for ${price}`)
  if (net > 0n && buyer.grants.length === 0) {
    world.violate(
      'PROMISE',
      `${buyer.name} paid ${net} and has nothing; it was told ${buyer.refusals.join(' ')}`,
    )
  }
}

/** I2: one net charge per requestId, whatever its buyers did. */
function checkRequests({
  world,
  challenges,
  authorizations,
  receipts,
  income,
  transfers,
  refunds,
  recorded,
  forgiven,
}: Scene): void {
  const requests = new Map<string, Set<string>>()
  for (const { key, requestId } of challenges.values()) {
    requests.set(requestId, (requests.get(requestId) ?? new Set()).add(key))
  }
  const returned = new Map(transfers.map(({ nonce, value }) => [nonce as string, value]))
  for (const [requestId, ids] of requests) {
    // A lost payment cannot keep its buyer from signing another one; that one cannot be charged twice either.
    if (forgiven.request(requestId)) continue
    const own = [...authorizations, ...receipts.values()].filter(({ challengeId }) => ids.has(challengeId))
    const keys = [...new Set(own.map(({ key }) => key))]
    const paid = keys.flatMap((key) => income.get(key) ?? [])
    const kept = paid.filter(({ key }) => {
      const refund = refunds.get(key)
      if (!refund) return true
      const open = refund.phase !== 'DONE' && refund.phase !== 'VOID'
      return !open && !(refund.auth && returned.has(String(refund.auth.nonce ?? refund.auth.serial)))
    })
    if (kept.length > 1) world.violate('I2', `request ${requestId} was charged ${kept.length} times`)
  }
  world.count('challenges stored', recorded.challengeIds.size)
}
