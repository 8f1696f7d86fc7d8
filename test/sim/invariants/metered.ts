import type { SimChain } from '../chain/sim-chain.ts'
import type { MeteredCall } from '../ports/meter-book.ts'
import { METERED_ROUTE, PAY_TO, UNDELIVERED_PER_DAY } from '../world.ts'
import type { Scene } from './scene.ts'

/**
 * I22, at the end: the chain took of each permit at most once, exactly the charge that was stored for it, for a call that
 * was answered; a sale has its transfer, or cost nothing; nobody's money stays held. The rest is checked in every step:
 * `createMeterBook`.
 */
export async function checkMetered(scene: Scene): Promise<void> {
  for (const chain of scene.chains) checkSettlements(scene, chain)
  checkSales(scene)
  checkUnpaid(scene)
  await checkHolds(scene)
}

function checkSettlements({ world, recorded, forgiven }: Scene, { branch, network }: SimChain): void {
  const settled = new Set<string>()
  for (const { tx, logs } of branch.mined) {
    const [action] = tx.actions
    for (const log of logs) {
      if (log.kind !== 'permit' || log.taken === 0n || action?.kind !== 'settle') continue
      const { owner, nonce, taken } = log
      const { amount, to, facilitator } = action.permit
      const key = `${network.chainId}:permit2:${owner}:${nonce}`
      const name = key.slice(-6)
      if (settled.has(key)) world.violate('I22', `${name} was settled twice`)
      settled.add(key)
      if (taken > BigInt(amount)) world.violate('I22', `${taken} of ${amount} was taken of ${name}`)
      if (to !== PAY_TO || tx.lane?.wallet !== facilitator)
        world.violate('I22', `${name} was settled by or for somebody else`)
      // A call that began while its claim was lost is known by its payer alone.
      const isOf = (call: MeteredCall): boolean =>
        call.key === key || (call.key === '' && call.payer === owner && forgiven.payment(key))
      const calls = recorded.meter.calls.filter((call) => isOf(call) && call.end === 'answered')
      if (!calls.some(({ charge }) => charge === taken))
        world.violate('I22', `${taken} was taken of ${name}, and no call of it was answered at that price`)
      if (recorded.meter.charges.get(key) !== taken && !forgiven.payment(key))
        world.violate(
          'I22',
          `${taken} was taken of ${name}, ${recorded.meter.charges.get(key)} was its charge`,
        )
      world.count('settlements checked')
    }
  }
}

/** A delivered metered sale has its transfer of exactly the charge, or cost nothing. */
function checkSales({ world, challenges, income, receipts, recorded, forgiven }: Scene): void {
  for (const { key, itemId, state, receipt, chargedUnits, txHash } of challenges.values()) {
    if (itemId !== METERED_ROUTE.routeId || state !== 'DELIVERED' || forgiven.challenge(key)) continue
    if (chargedUnits === '0') {
      world.count('delivered for nothing')
      if (receipt !== null || txHash !== null)
        world.violate('I22', `${key} cost nothing, and names a transaction`)
      continue
    }
    world.count('metered sales')
    // The chain dropped it after the delivery.
    if (receipts.get(receipt ?? '')?.lost) continue
    const paid = income.get(receipt ?? '')?.value
    if (String(paid) !== chargedUnits || paid !== recorded.meter.charges.get(receipt ?? ''))
      world.violate('I22', `${key} cost ${chargedUnits}, and ${paid} came in`)
  }
}

/** I17 for metered calls: how many a payer can make fail, or leave unpaid, in a day. */
function checkUnpaid({ world, authorizations, buyers, recorded }: Scene): void {
  const { weather, counters } = world
  const hidden = ['transactions reorganised', 'stale answers'].some((what) => counters.get(what))
  // A hold is settled after the step that it belongs to, and a failure in between leaves it uncounted.
  const unsure = weather.crash + weather.rejected + weather.lostAnswer + weather.stops + weather.outages > 0
  if (hidden || unsure || weather.losses > 0 || weather.maxSkewMs > 0) return
  const dead = new Set(authorizations.filter(({ phase }) => phase === 'DEAD').map(({ key }) => key))
  for (const { name, address } of buyers) {
    const unpaid = recorded.meter.calls.filter(({ payer, end, key, charge, isReleased }) => {
      const isUnpaid = end === 'answered' && charge !== 0n && dead.has(key)
      return payer === address && (isUnpaid || isReleased)
    })
    if (unpaid.length > 0) world.count('payers of calls for nothing')
    if (unpaid.length > UNDELIVERED_PER_DAY)
      world.violate('I17', `${name} made ${unpaid.length} calls for nothing`)
  }
}

/** What a payer's calls may cost is held while they are under way, and not longer. */
async function checkHolds({ world, recorded }: Scene): Promise<void> {
  const held = (await recorded.readAll('holds')).filter(({ key }) => key.startsWith('exposure:'))
  for (const { key, spent } of held)
    world.violate('I22', `${key} is still held${spent ? ' as spent' : ''} at rest`)
}
