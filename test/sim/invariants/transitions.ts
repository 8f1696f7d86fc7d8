import type { Scene } from './scene.ts'

/** I9: the table of the specification, written a second time on purpose. */
const LEGAL = new Set([
  'PENDING>PAID',
  'PENDING>EXPIRED',
  'PENDING>CANCELLED',
  'PAID>DELIVERED',
  'PAID>REFUND_PENDING',
  'PAID>EXPIRED',
  'EXPIRED>REFUND_PENDING',
  'CANCELLED>REFUND_PENDING',
  'REFUND_PENDING>REFUNDED',
  'REFUND_PENDING>REFUND_FAILED',
  'REFUND_PENDING>EXPIRED',
  'REFUND_FAILED>REFUND_PENDING',
])

export async function checkTransitions(scene: Scene): Promise<void> {
  const { world, challenges, recorded, outside, forgiven } = scene
  for (const challenge of challenges.values()) {
    // An instance that remembers more than the store may go on from there.
    if (forgiven.challenge(challenge.key)) continue
    let state = 'PENDING'
    for (const { fromState, toState, event } of await recorded.store.audit(challenge.key)) {
      // The first line of what ends unpaid; once more, where a clock far behind took a swept id for a fresh one.
      if (event === 'created') {
        if (state !== 'PENDING' && !recorded.forgotten.has(challenge.key))
          world.violate('I9', `${challenge.key}: created, but it was ${state}`)
        state = 'PENDING'
        continue
      }
      const free = challenge.chargedUnits === '0'
      if (event === 'paid' && !free && !outside.told.has(`paid ${challenge.key}`)) {
        world.violate('HOOK', `the seller was never told of ${challenge.key}`)
      }
      if (event === 'refund-confirmed' && !outside.told.has(`refunded ${challenge.key}`)) {
        world.violate('HOOK', `the seller was never told of the refund of ${challenge.key}`)
      }
      // Remarks that move nothing do not write the challenge, so the state they name may be a moment old.
      if (fromState === toState) continue
      if (fromState === 'PENDING' && recorded.forgotten.has(challenge.key)) state = 'PENDING'
      if (fromState !== state)
        world.violate('I9', `${challenge.key}: ${event} from ${fromState}, but it was ${state}`)
      if (!LEGAL.has(`${fromState}>${toState}`)) {
        world.violate('I9', `${challenge.key}: ${event} from ${fromState} to ${toState}`)
      }
      state = toState ?? state
    }
    if (state !== challenge.state)
      world.violate('I9', `${challenge.key} is ${challenge.state}; its log says ${state}`)
  }
}
