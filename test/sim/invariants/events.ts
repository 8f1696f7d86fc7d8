import type { Arrived } from '../ports/sim-endpoint.ts'
import type { Scene } from './scene.ts'

/** What each transition is told as, written a second time on purpose. */
const EVENTS: Record<string, readonly string[]> = {
  paid: ['payment.settled'],
  delivered: ['access.delivered'],
  'delivery-failed': ['access.failed', 'refund.pending'],
  'late-money': ['refund.pending'],
  'surplus-received': ['refund.pending'],
  'refund-retried': ['refund.pending'],
  'surplus-refund-retried': ['refund.pending'],
  'credits-refund-retried': ['refund.pending'],
  'refund-confirmed': ['refund.settled'],
  'refund-proven': ['refund.settled'],
  'surplus-refunded': ['refund.settled'],
  'credits-refunded': ['refund.settled'],
  'credits-refund-proven': ['refund.settled'],
  'refund-failed': ['refund.failed'],
  'surplus-refund-failed': ['refund.failed'],
  'credits-refund-failed': ['refund.failed'],
  'receipt-lost': ['payment.lost'],
  'credits-low': ['credits.low'],
}

/**
 * I21: every transition that a seller is told of has arrived at an endpoint that lives, each under one id of its own, and
 * those of a challenge in the order in which they happened.
 */
export async function checkEvents(scene: Scene): Promise<void> {
  const { world, outside, recorded, forgiven } = scene
  if (!world.weather.webhooks) return
  const arrived = new Map<string, Arrived[]>()
  const kinds = new Map<string, string>()
  for (const event of outside.arrived) {
    const kind = `${event.type} ${event.challengeId}`
    if ((kinds.get(event.id) ?? kind) !== kind)
      world.violate('I21', `${event.id} is the id of two events: ${kinds.get(event.id)} and ${kind}`)
    // Only the first arrival counts: a receiver drops what it has seen.
    if (!kinds.has(event.id))
      arrived.set(event.challengeId, [...(arrived.get(event.challengeId) ?? []), event])
    kinds.set(event.id, kind)
  }
  const ids = new Set([...recorded.challengeIds, ...arrived.keys()])
  for (const challengeId of ids) {
    if (forgiven.challenge(challengeId)) continue
    const happened = (await recorded.store.audit(challengeId)).flatMap(({ event, details }) => {
      if (event === 'credits-closed') return details?.value === '0' ? [] : ['refund.pending']
      return EVENTS[event] ?? []
    })
    const told = (arrived.get(challengeId) ?? []).map(({ type }) => type)
    world.count('events told', told.length)
    if (told.join() !== happened.join())
      world.violate(
        'I21',
        `${challengeId}: ${happened.join(', ')} happened, the seller was told ${told.join(', ')}`,
      )
  }
}
