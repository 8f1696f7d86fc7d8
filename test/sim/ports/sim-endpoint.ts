import type { Webhooks } from '../../../src/ports.ts'
import type { World } from '../world.ts'
import { type Host, never } from './faulty-call.ts'

/** An event that reached the seller. */
export interface Arrived {
  id: string
  type: string
  challengeId: string
}

/** The seller's endpoint: it refuses some requests, takes some and loses the answer, and is down for a while. */
export function createSimEndpoint(world: World, host: Host, arrived: Arrived[]): Webhooks {
  const { eventDice, scheduler, weather } = world
  return {
    endpoints: [{ id: 'shop', url: 'https://shop.example/', events: null }],
    async send(_endpoint, { id, body }) {
      if (!world.calm) await scheduler.sleep(eventDice.skewed(1, weather.maxLatencyMs))
      if (!host.alive) return never()
      const down = !world.calm && weather.endpointDown
      const roll = world.calm ? 1 : eventDice.next()
      if (down || roll < weather.endpointFails / 2) {
        world.count('webhooks refused')
        return { status: 503, text: 'busy' }
      }
      const { type, data } = JSON.parse(body)
      arrived.push({ id, type, challengeId: data.challengeId })
      world.count('webhooks taken')
      if (roll < weather.endpointFails) return { status: null, text: 'the answer got lost' }
      return { status: 204, text: '' }
    },
  }
}
