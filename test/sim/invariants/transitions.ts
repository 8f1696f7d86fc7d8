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

const UNLOGGED = new Set(['EXPIRED', 'CANCELLED'])

export async function checkTransitions(scene: Scene): Promise<void> {
  const { world, challenges, recorded, outside, forgiven } = scene
  for (const challenge of challenges.values()) {
    // An instance that remembers more than the store may go on from there.
    if (forgiven.challenge(challenge.key)) continue
    let state = 'PENDING'
    for (const { fromState, toState, event } of await recorded.store.audit(challenge.key)) {
      if (event === 'paid' && !outside.told.has(`paid ${challenge.key}`)) {
        world.violate('HOOK', `the seller was never told of ${challenge.key}`)
      }
      if (event === 'refund-confirmed' && !outside.told.has(`refunded ${challenge.key}`)) {
        world.violate('HOOK', `the seller was never told of the refund of ${challenge.key}`)
      }
      // Remarks that move nothing do not write the challenge, so the state they name may be a moment old.
      if (fromState === toState) continue
      if (fromState === 'PENDING' && recorded.forgotten.has(challenge.key)) state = 'PENDING'
      // A challenge that nobody had paid closes without a line.
      if (state === 'PENDING' && UNLOGGED.has(fromState ?? '')) state = fromState ?? state
      if (fromState !== state)
        world.violate('I9', `${challenge.key}: ${event} from ${fromState}, but it was ${state}`)
      if (!LEGAL.has(`${fromState}>${toState}`)) {
        world.violate('I9', `${challenge.key}: ${event} from ${fromState} to ${toState}`)
      }
      state = toState ?? state
    }
    const closedUnpaid = !challenge.claimed && state === 'PENDING' && UNLOGGED.has(challenge.state)
    if (state !== challenge.state && !closedUnpaid)
      world.violate('I9', `${challenge.key} is ${challenge.state}; its log says ${state}`)
  }
}
