import type { Mined } from '../chain/branch.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import { isSigned } from '../keys.ts'
import { PAY_TO, PRICES, REFUND_WALLET, type World } from '../world.ts'
import type { Scene } from './scene.ts'

/** The gas wallet's own limits, written out. */
const MAX_FEE_WEI = 5_000_000_000n
const MAX_REFUND_TRIES = 5

/**
 * I10, from the mined transactions of our wallets alone:
 * - never above the fee cap, and only for what could be a payment of ours at one of our prices, or a refund;
 * - a payment is paid for once. Only a transaction that reverted as a whole, with others in it, is followed by another,
 *   with at most half as many: one member may have burned the gas of all, and the others are not at fault. Alone, it is
 *   tried once. So a hostile payment costs at most 1 + log2(its first company) transactions;
 * - each time that a reorganisation, a stale node or a lost commit hides something, a payment may be sent once more;
 * - a refund that expired unmined is signed anew, a limited number of times;
 * - an empty transaction only closes a gap below one that carries something, as far as all is seen.
 */
export function checkGas(scene: Scene): void {
  for (const chain of scene.chains) checkGasOn(scene, chain)
}

function checkGasOn(scene: Scene, chain: SimChain): void {
  const { world } = scene
  const ours = chain.branch.mined.filter(({ tx }) => tx.lane !== null)
  const tries = new Map<string, Mined[]>()
  for (const mined of ours) {
    if (mined.tx.lane!.maxFee > MAX_FEE_WEI) world.violate('I10', `${mined.tx.hash} is above the fee cap`)
    for (const action of mined.tx.actions) {
      if (action.kind === 'settle') {
        const key = `payment ${action.permit.from}:${action.permit.nonce}`
        tries.set(key, [...(tries.get(key) ?? []), mined])
      }
      if (action.kind !== 'authorized') continue
      const { from, to, value, nonce } = action.auth
      const isRefund = from === PAY_TO || from === REFUND_WALLET
      if (!isSigned(action.auth, chain.network) || !(isRefund || (to === PAY_TO && isPrice(value)))) {
        world.violate('I10', `gas was spent on ${value} from ${from.slice(-3)} to ${to.slice(-3)}`)
      }
      const payer = mined.tx.lane!.wallet
      if (!isRefund && (payer === PAY_TO || payer === REFUND_WALLET)) {
        world.violate('I10', `the refund wallet spent its gas on a payment from ${from.slice(-3)}`)
      }
      const key = `${isRefund ? 'refund' : 'payment'} ${from}:${nonce}`
      tries.set(key, [...(tries.get(key) ?? []), mined])
    }
  }
  checkTries(scene, tries)
  checkFills(scene, ours)
}

function isPrice(value: string): boolean {
  return [...PRICES.values()].flat().some((price) => String(price) === value)
}

/** How often the true state was hidden from the engine. */
function timesHidden({ counters }: World): number {
  const excuses = ['transactions reorganised', 'stale answers', 'commits lost']
  return excuses.reduce((total, what) => total + (counters.get(what) ?? 0), 0)
}

function checkTries({ world }: Scene, tries: ReadonlyMap<string, readonly Mined[]>): void {
  const hidden = timesHidden(world)
  for (const [key, mined] of tries) {
    if (key.startsWith('refund')) {
      // The operator may retry it once per history.
      if (mined.length > 2 * MAX_REFUND_TRIES) world.violate('I10', `${key} was mined ${mined.length} times`)
      continue
    }
    let excused = hidden
    for (const [index, { tx }] of mined.slice(1).entries()) {
      const before = mined[index]!
      world.count('payments tried again')
      const company = before.tx.actions.length
      const halved = !before.success && company > 1 && tx.actions.length <= Math.ceil(company / 2)
      if (!halved && excused-- <= 0)
        world.violate('I10', `${key} cost gas ${mined.length} times, ${mined.map(brief).join(', ')}`)
    }
  }
}

const brief = ({ tx, success }: Mined): string =>
  `${success ? 'mined' : 'reverted'} with ${tx.actions.length}`

function checkFills({ world }: Scene, ours: readonly Mined[]): void {
  for (const { tx } of ours.filter((mined) => mined.tx.actions.length === 0)) {
    world.count('nonce gaps filled')
    const { wallet, nonce } = tx.lane!
    const above = ours.some(({ tx: { lane, actions } }) => {
      return lane!.wallet === wallet && lane!.nonce > nonce && actions.length > 0
    })
    if (!above && timesHidden(world) === 0)
      world.violate('I10', `an empty transaction of ${wallet.slice(-3)} at nonce ${nonce} closes no gap`)
  }
}
