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
  { calls, unpaidOf }: Pick<MeterBook, 'calls' | 'unpaidOf'>,
): AnswerStream {
  let hasBegun = false

  function checkLimits(call: MeteredCall): void {
    const { maxSkewMs, losses, maxLatencyMs } = world.weather
    // Budgets are by the day of each instance, and a store that lost its last steps has lost holds.
    if (maxSkewMs > 0 || losses > 0) return
    const day = Math.floor(world.scheduler.now() / DAY_MS)
    // The limits were looked at so much earlier than the call began, at most.
    const since = call.begunAt - 6 * maxLatencyMs
    const [chainId] = call.key.split(':')
    const unpaid = new Map<string, { payer: string; units: bigint }>()
    const failed: Array<{ payer: string; units: bigint }> = []
    for (const one of calls) {
      const { key, payer, streamedAt } = one
      const isToday = streamedAt !== undefined && Math.floor(streamedAt / DAY_MS) === day
      if (!isToday || key.split(':')[0] !== chainId) continue
      if (isReadForNothing(one)) failed.push({ payer, units: METERED_MAX })
      else unpaid.set(key, { payer, units: unpaidOf(key, since) })
    }
    const out = [...unpaid.values(), ...failed].filter(({ units }) => units > 0n)
    const own = out.filter(({ payer }) => payer === call.payer)
    if (own.length > 1) world.count('streamed answers beside others')
    if (sum(own) > STREAM_LIMITS.perPayer)
      world.violate('I23', `${sum(own)} of answers to ${call.payer.slice(-3)} are out unpaid`)
    if (sum(out) > STREAM_LIMITS.inAll) world.violate('I23', `${out.length} answers are out unpaid`)
  }

  /** It went out, and then it failed or named no amount. Where stores and processes fail too, its hold may be lost with them. */
  function isReadForNothing({ end, charge }: MeteredCall): boolean {
    const { crash, rejected, lostAnswer, stops, outages } = world.weather
    if (crash + rejected + lostAnswer + stops + outages > 0) return false
    return end === 'failed' || (end === 'answered' && charge === undefined)
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

const sum = (some: ReadonlyArray<{ units: bigint }>): bigint =>
  some.reduce((total, { units }) => total + units, 0n)
