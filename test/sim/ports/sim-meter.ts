import type { AnswerStream, Backend, Called, Order, Store } from '../../../src/ports.ts'
import type { ResourceResponse } from '../../../src/protocol/access.ts'
import { METERED_MAX, METERED_ROUTE, type World } from '../world.ts'
import { type Host, never } from './faulty-call.ts'
import type { MeterBook } from './meter-book.ts'

/** What a backend may say about a call's cost, and what that is; undefined: it is no amount. */
interface Words {
  stated?: unknown
  charge: bigint | undefined
}

const NO_AMOUNTS: readonly unknown[] = ['abc', '-5', -1, 1.5, null, {}, '12%3', '']

function drawWords({ meterDice: dice }: World): Words {
  const some = dice.int(1, Number(METERED_MAX))
  return dice.pick<() => Words>([
    () => ({ stated: String(some), charge: BigInt(some) }),
    () => ({ stated: some, charge: BigInt(some) }),
    // As much as a plan costs.
    () => ({ stated: '1000000', charge: 1_000_000n }),
    () => ({ stated: '50%', charge: METERED_MAX / 2n }),
    () => ({ stated: '$0.75', charge: 750_000n }),
    () => ({ charge: METERED_MAX }),
    () => ({ stated: String(Number(METERED_MAX) + some), charge: METERED_MAX }),
    () => ({ stated: '0', charge: 0n }),
    () => ({ stated: dice.pick(NO_AMOUNTS), charge: undefined }),
  ])()
}

/** The seller's metered API: it answers, and says what the call cost, in words right and wrong; or it fails. */
export async function callMetered(
  world: World,
  host: Host,
  store: Store,
  meter: MeterBook,
  order: Order,
  stream?: AnswerStream,
): Promise<Called> {
  const { meterDice: dice, scheduler, weather } = world
  const { challengeId, payer } = order
  const [challenge] = await store.get('challenges', [challengeId])
  const call = meter.begin({ challengeId, payer, key: challenge?.liveAuth ?? '' })
  stream?.begin(challengeId, { status: 200, headers: [] })
  const fails = !world.calm && dice.chance(weather.deliveryFails)
  if (!world.calm) {
    const takesMs = drawDuration(world, order)
    await new Promise<void>((resolve) => {
      scheduler.after(takesMs, () => {
        if (!host.alive) return
        if (dice.chance(weather.crash)) return host.crash('in the metered call')
        resolve()
      })
    })
    if (!host.alive) return never()
  }
  if (fails) {
    call.end = 'failed'
    world.count('failed metered calls')
    return { ok: false, response: response(order, 500, 'it broke'), reason: 'the backend answered 500' }
  }
  const { stated, charge } = drawWords(world)
  call.end = 'answered'
  call.charge = charge
  world.count(charge === undefined ? 'charges that are no amount' : charge === 0n ? 'free calls' : 'charges')
  return {
    ok: true,
    response: response(order, 200, `data of ${challengeId} #${call.id}`),
    sealed: `sealed:${challengeId} #${call.id}`,
    ...(stated !== undefined && { charge: { kind: 'amount' as const, amount: stated } }),
  }
}

/** Some take longer than the claim is theirs, and hostile payers choose calls that leave them time. */
function drawDuration({ meterDice: dice, weather }: World, { resource }: Order): number {
  const { deliveryLeaseMs } = weather.config
  if (resource?.path.startsWith('/chat/slow')) return dice.int(deliveryLeaseMs / 4, deliveryLeaseMs)
  return dice.skewed(10, dice.chance(0.15) ? 40_000 : deliveryLeaseMs / 2)
}

export function openMetered(
  world: World,
  order: Order,
  sealed: string,
): Awaited<ReturnType<Backend['open']>> {
  const [, challengeId, id] = /^sealed:(\S+) #(\d+)$/.exec(sealed) ?? []
  if (challengeId !== order.challengeId)
    world.violate('I7', `the answer of ${sealed} was opened for ${order.challengeId}`)
  return { response: response(order, 200, `data of ${challengeId} #${id}`) }
}

function response({ challengeId, requestId, txHash }: Order, status: number, body: string): ResourceResponse {
  const { routeId } = METERED_ROUTE
  const facts = { challengeId, requestId, routeId, txHash, explorerUrl: '' }
  return { type: 'ResourceResponse', ...facts, resource: { status, body } }
}
