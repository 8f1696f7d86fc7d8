import type { Backend, Called, Order, Store } from '../../../src/ports.ts'
import type { ResourceResponse } from '../../../src/protocol/access.ts'
import { METERED_ROUTE, type World } from '../world.ts'
import { type Host, never } from './faulty-call.ts'
import type { MeterBook } from './meter-book.ts'
import type { PaidCalls } from './paid-calls.ts'
import { callMetered, openMetered } from './sim-meter.ts'

/** The seller's API behind a route: slow, unreliable, and sometimes the instance crashes during a call. */
export function createSimBackend(
  world: World,
  host: Host,
  store: Store,
  meter: MeterBook,
  paidCalls: PaidCalls,
): Backend {
  const { dice, scheduler, weather } = world

  async function begin({ challengeId, prepaid }: Order): Promise<() => void> {
    if (!prepaid) return paidCalls.begin(challengeId, host)
    world.count('prepaid backend calls')
    return () => {}
  }

  return {
    async call(order, { stream }): Promise<Called> {
      if (!host.alive) return never()
      if (order.itemId === METERED_ROUTE.routeId) return callMetered(world, host, store, meter, order, stream)
      const end = await begin(order)
      world.count('backend calls')
      if (world.calm) {
        end()
        return good(order)
      }
      const fails = dice.chance(weather.deliveryFails)
      await new Promise<void>((resolve) => {
        scheduler.after(dice.skewed(10, 40_000), () => {
          if (!host.alive) return
          if (dice.chance(weather.crash)) return host.crash('in the backend call')
          resolve()
        })
      })
      end()
      if (!fails) return good(order)
      world.count('failed backend calls')
      return { ok: false, response: answer(order, 500), reason: 'the backend answered 500' }
    },
    async open(order, sealed) {
      if (order.itemId === METERED_ROUTE.routeId) return openMetered(world, order, sealed)
      if (sealed !== sealedFor(order))
        world.violate('I7', `the answer of ${sealed} was opened for ${sealedFor(order)}`)
      return { response: answer(order, 200) }
    },
  }
}

function good(order: Order): Called {
  return { ok: true, response: answer(order, 200), sealed: sealedFor(order) }
}

const sealedFor = ({ challengeId, prepaid, payer }: Order): string =>
  prepaid ? `sealed:${payer}:${prepaid.sealedFor}` : `sealed:${challengeId}`

function answer({ challengeId, requestId, itemId, txHash }: Order, status: number): ResourceResponse {
  const resource = { status, body: `data of ${challengeId}` }
  return {
    type: 'ResourceResponse',
    challengeId,
    requestId,
    routeId: itemId,
    txHash,
    explorerUrl: '',
    resource,
  }
}
