import type { SimChain } from '../chain/sim-chain.ts'
import { LOST_PER_DAY, UNDELIVERED_PER_DAY } from '../world.ts'
import type { Scene } from './scene.ts'

/**
 * I17: what a payer may cost us in a day is bounded, however many of its payments run at once. A store that lost its
 * last second has lost the counts in it, and a payment that the chain first dropped and then mined is counted late.
 */
export function checkBudgets(scene: Scene): void {
  const { counters, weather } = scene.world
  const hidden = ['commits lost', 'transactions reorganised', 'stale answers'].some((what) =>
    counters.get(what),
  )
  if (hidden || weather.strategy !== 'gas-wallet') return
  checkLostGas(scene)
  checkUndelivered(scene)
}

/** From the chain: failed transactions of ours that carried nothing but this payer's payment. */
function checkLostGas(scene: Scene): void {
  for (const chain of scene.chains) checkLostGasOn(chain, scene)
}

function checkLostGasOn(chain: SimChain, { world, buyers }: Scene): void {
  const lost = new Map<string, number>()
  const metered = new Set<string>()
  for (const { tx, success } of chain.branch.mined) {
    const [action] = tx.actions
    if (tx.lane === null || success || tx.actions.length !== 1) continue
    if (action?.kind !== 'authorized' && action?.kind !== 'settle') continue
    const { from } = action.kind === 'settle' ? action.permit : action.auth
    if (action.kind === 'settle') metered.add(from)
    lost.set(from, (lost.get(from) ?? 0) + 1)
  }
  for (const { name, address } of buyers) {
    const times = lost.get(address) ?? 0
    if (times > 0) world.count('gas lost to a payer')
    if ((chain.token.codes.has(address) || metered.has(address)) && times > LOST_PER_DAY)
      world.violate('I17', `${name} made us lose the gas of ${times} transactions`)
  }
}

/** From the ledger: calls whose payment went back, or is to go back. */
function checkUndelivered({ world, challenges, buyers }: Scene): void {
  for (const { name, address } of buyers) {
    const undelivered = [...challenges.values()].filter(
      ({ kind, payer, state }) => kind === 'route' && payer === address && state.startsWith('REFUND'),
    )
    if (undelivered.length > UNDELIVERED_PER_DAY)
      world.violate('I17', `${name} has ${undelivered.length} undelivered calls`)
  }
}
