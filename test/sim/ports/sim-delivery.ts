import type { Delivered, Delivery, Order } from '../../../src/ports.ts'
import type { World } from '../world.ts'
import { type Host, never } from './faulty-call.ts'

/** The seller's credential step, which knows the idempotency key: one credential per challenge. */
export interface Issuer {
  /** How often each challenge's credential was asked for. */
  calls: Map<string, number>
}

export function createSimDelivery(world: World, host: Host, issuer: Issuer): Delivery {
  const { dice, scheduler, weather } = world
  const { instant, accessMs } = weather
  const expiryOf = ({ paidAt }: Order): number => paidAt + accessMs

  function issue(order: Order): Delivered {
    issuer.calls.set(order.challengeId, (issuer.calls.get(order.challengeId) ?? 0) + 1)
    world.count('delivery calls')
    return { kind: 'delivered', sealed: `sealed:${order.challengeId}`, expiresAt: expiryOf(order) }
  }

  return {
    instant,
    expiryOf,
    async deliver(order) {
      if (!host.alive) return never()
      if (world.calm) return issue(order)
      if (instant) {
        if (dice.chance(0.02)) throw new Error('the key could not be read')
        return issue(order)
      }
      const fails = dice.chance(weather.deliveryFails)
      const takesMs = dice.skewed(10, 40_000)
      await new Promise<void>((resolve) => {
        scheduler.after(takesMs, () => {
          if (!host.alive) return
          if (dice.chance(weather.crash)) return host.crash('before delivery')
          resolve()
        })
      })
      if (!fails) return finish(issue(order))
      // An issuer may fail before it made the credential, or after.
      if (dice.chance(0.5)) issue(order)
      world.count('failed deliveries')
      if (dice.chance(0.5)) throw new Error('the issuer hung up')
      return { kind: 'failed', reason: 'the issuer answered 500' }
    },
    async open(order, sealed) {
      if (sealed !== `sealed:${order.challengeId}`) {
        world.violate('I7', `the result of ${sealed} was opened for ${order.challengeId}`)
      }
      return {
        type: 'AccessGrant',
        challengeId: order.challengeId,
        requestId: order.requestId,
        accessToken: `token:${order.challengeId}`,
        tokenType: 'Bearer',
        resourceEndpoint: '/',
        resourceId: order.resourceId,
        planId: order.itemId,
        txHash: order.txHash,
        explorerUrl: '',
      }
    },
  }

  function finish(delivered: Delivered): Delivered | Promise<Delivered> {
    if (!dice.chance(weather.crash)) return delivered
    host.crash('after delivery')
    return never()
  }
}
