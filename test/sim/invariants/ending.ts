import type { RefundRow } from '../../../src/ports.ts'
import type { Hex } from '../../../src/protocol/hex.ts'
import type { Scene } from './scene.ts'

const OVER = ['DELIVERED', 'EXPIRED', 'CANCELLED', 'REFUNDED', 'REFUND_FAILED']

/** I12: every record ends. */
export function checkEnding(scene: Scene): void {
  const { world, challenges, authorizations, receipts, refunds, walletTxs, buyers } = scene
  const noKey = world.weather.refunds === 'no-key'
  for (const { key, state, liveAuth } of challenges.values()) {
    world.count(`state ${state}`)
    const waitsForKey = state === 'REFUND_PENDING' && noKey
    if (waitsForForeignAttempt(scene, key, liveAuth)) continue
    if (!OVER.includes(state) && !waitsForKey) world.violate('I12', `challenge ${key} stays ${state}`)
    if (liveAuth !== null) world.violate('I12', `challenge ${key} keeps a live attempt`)
  }
  for (const { key, phase } of authorizations) {
    world.count(`attempts ${phase}`)
    if (phase !== 'CONFIRMED' && phase !== 'DEAD')
      world.violate('I12', `attempt ${key.slice(-6)} stays ${phase}`)
  }
  for (const { key, finalized, lost } of receipts.values()) {
    if (!finalized && !lost) world.violate('I12', `receipt ${key.slice(-6)} is never final`)
  }
  for (const refund of refunds.values()) {
    const { key, phase } = refund
    world.count(`refunds ${phase}`)
    const over = phase === 'DONE' || phase === 'FAILED' || phase === 'VOID' || (phase === 'WAITING' && noKey)
    if (!over) world.violate('I12', `refund ${key.slice(-6)} stays ${phase}`)
    checkSubmitted(scene, refund)
  }
  for (const { nonce, phase } of walletTxs) {
    if (phase === 'SENT') world.violate('I12', `wallet transaction ${nonce} stays ${phase}`)
  }
  for (const { name, done } of buyers) if (!done) world.violate('I12', `${name} never ends`)
}

/**
 * A refund is sent if any submitter can: it fails only for want of money, or if the only submitter is a facilitator
 * that refuses it. The operator must have got an alert of the refusal.
 */
function checkSubmitted({ world, outside }: Scene, { key, phase, auth, challengeId }: RefundRow): void {
  const { refunds, strategy, refusesRefunds, refundEther } = world.weather
  const sendable = strategy === 'gas-wallet' || !refusesRefunds || refundEther !== 'none'
  if (phase === 'FAILED' && sendable && refunds !== 'poor')
    world.violate('I12', `refund ${key.slice(-6)} is FAILED although somebody could have sent it`)
  const told = (alert: string): boolean => alert.startsWith('refund-refused') && alert.includes(challengeId)
  if (auth && outside.refusedRefunds.has((auth.nonce ?? auth.serial) as Hex) && !outside.alerts.some(told))
    world.violate('I12', `refund ${key.slice(-6)} was refused, and nobody was told`)
}

/**
 * An instance that knows a claim which the store lost may write it over a newer one of the same version. The challenge
 * of the newer one then names an attempt that is over or belongs to another challenge, until its buyer pays again.
 * Nothing is charged for it meanwhile.
 */
function waitsForForeignAttempt(
  { world, authorizations, forgiven }: Scene,
  key: string,
  liveAuth: string | null,
): boolean {
  if (liveAuth === null || !forgiven.challenge(key)) return false
  const live = authorizations.find((row) => row.key === liveAuth)
  const isOwn = live?.challengeId === key && ['CLAIMED', 'CHARGED', 'BROADCAST'].includes(live.phase)
  if (!isOwn) world.count('orders mixed up after a loss')
  return !isOwn
}
