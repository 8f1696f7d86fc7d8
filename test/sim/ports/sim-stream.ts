import type { AnswerStream } from '../../../src/ports.ts'
import { DAY_MS } from '../../../src/protocol/duration.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import { METERED_MAX, STREAM_LIMITS, type World } from '../world.ts'
import type { MeterBook, MeteredCall } from './meter-book.ts'

/**
 * I23: an answer goes out before it is paid only to a payer with a metered charge in a final block, and what is out
 * unpaid, or was never paid today, stays within the limits of its route, for each payer and for all.
 */
export function createSimStream(
  world: World,
  chains: readonly SimChain[],
  { calls, isUnpaid }: Pick<MeterBook, 'calls' | 'isUnpaid'>,
): AnswerStream {
  let hasBegun = false

  function checkLimits(call: MeteredCall): void {
    const { maxSkewMs, losses } = world.weather
    // Budgets are by the day of each instance, and a store that lost its last steps has lost holds.
    if (maxSkewMs > 0 || losses > 0) return
    const day = Math.floor(world.scheduler.now() / DAY_MS)
    const [chainId] = call.key.split(':')
    const out = calls.filter(
      ({ key, streamedAt }) =>
        streamedAt !== undefined &&
        Math.floor(streamedAt / DAY_MS) === day &&
        key.split(':')[0] === chainId &&
        isUnpaid(key),
    )
    const keys = (some: readonly MeteredCall[]) => BigInt(new Set(some.map(({ key }) => key)).size)
    const own = keys(out.filter(({ payer }) => payer === call.payer)) * METERED_MAX
    if (own > METERED_MAX) world.count('streamed answers beside others')
    if (own > STREAM_LIMITS.perPayer)
      world.violate('I23', `${own} of answers to ${call.payer.slice(-3)} are out unpaid`)
    if (keys(out) * METERED_MAX > STREAM_LIMITS.inAll)
      world.violate('I23', `${keys(out)} answers are out unpaid`)
  }

  return {
    get hasBegun() {
      return hasBegun
    },
    begin(challengeId) {
      if (hasBegun) world.violate('I23', 'two answers went out as one')
      hasBegun = true
      world.count('streamed answers')
      const call = calls.findLast((one) => one.challengeId === challengeId && one.end === 'under way')
      if (!call || world.lost.challenges.has(challengeId)) return
      call.streamedAt = world.scheduler.now()
      if (!chains.some((chain) => hasFinalCharge(chain, call.payer)))
        world.violate(
          'I23',
          `${call.payer.slice(-3)} reads an answer unpaid, and has never paid one for good`,
        )
      if (call.key !== '') checkLimits(call)
    },
    write() {},
    end() {},
  }
}

function hasFinalCharge({ branch, finalized }: SimChain, payer: string): boolean {
  return branch.mined.some(
    ({ block, logs }) =>
      block.number <= finalized &&
      logs.some((log) => log.kind === 'permit' && log.owner === payer && log.taken > 0n),
  )
}
