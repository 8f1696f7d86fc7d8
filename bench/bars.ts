import { atLeast, atMost, type Bar } from './judge.ts'
import type { Overhead } from './measure-overhead.ts'
import { prepaidBars } from './prepaid-bars.ts'
import { ratioOf } from './ratio.ts'
import {
  CASES,
  FLOOR,
  nameOf,
  OURS,
  type PaidCase,
  PEER,
  type Results,
  SIX_NETWORKS,
  TWO_NETWORKS,
} from './results.ts'

const BLOCK_MS = 2000
/**
 * What one lone purchase may take beside the chain. Of either: milliseconds say more about a slow machine than about the
 * gateway, and on a fast one what is left is the waiting for disk and sockets, which shrinks less than the peer's work.
 */
const LONE_MS = 5
const LONE_SHARE = { promise: 0.5, goal: 0.33 }
/** What a heap may breathe. */
const FLOOD_MIB = 64

/** What further networks cost; a run that did not measure them has no figure. */
function networkBars({ unpaid, secondNetwork }: Results): Bar[] {
  if (!unpaid[TWO_NETWORKS] || !unpaid[SIX_NETWORKS] || !secondNetwork) return []
  const { one, two } = secondNetwork
  const atMostPercent = atMost('%')
  return [
    atMostPercent('a second network costs a 402', costOf(unpaid, TWO_NETWORKS, 1), 25, { goal: 15 }),
    atMostPercent('each of five further networks costs a 402', costOf(unpaid, SIX_NETWORKS, 5), 15),
    atLeast('paid plans/s with a second network, of those with one', ratioOf(two, one), 0.97, {
      also: one.failed + two.failed === 0,
    }),
  ]
}

/** By how many percent the time of a 402 grows with each further network. */
const costOf = (unpaid: Results['unpaid'], name: string, further: number): number =>
  ((ratioOf(unpaid[OURS]!, unpaid[name]!) - 1) * 100) / further

/** How often the chain's node is asked, which providers count; a run that did not count it has no figure. */
function callBars({ paid }: Results): Bar[] {
  const callsOf = (of: PaidCase): number | undefined => paid[nameOf(of)]?.callsEach
  const [alone, load] = [callsOf(CASES.alone), callsOf(CASES.plans)]
  if (alone === undefined || load === undefined) return []
  const atMostCalls = atMost('')
  return [
    atMostCalls('calls to the RPC per purchase, alone', alone, 15),
    atMostCalls('calls to the RPC per purchase, 64 at once', load, 2.5),
  ]
}

/**
 * Judges a run. A promise is set where runs on idle machines have kept it, and fails the run; a goal is what we want beyond it.
 */
export function judge(results: Results): Bar[] {
  const { unpaid, overhead, stored, flood, prepaid } = results
  const cell = (of: PaidCase) => results.paid[nameOf(of)]!
  const [plans, kindest, crowd] = [cell(CASES.plans), cell(CASES.kindest), cell(CASES.crowd)]
  const atMostOf = atMost('×')
  const own = ({ ownP50Ms, failed }: Overhead, what: string): Bar => {
    const share = ownP50Ms / overhead.peer.ownP50Ms
    const within = (most: number) => (ownP50Ms <= LONE_MS || share <= most) && failed === 0
    return {
      text: `${what} beside the chain, one at a time, p50: at most ${LONE_MS} ms, or ${LONE_SHARE.promise}× of the kindest peer's`,
      measured: `${ownP50Ms.toFixed(1)} ms, ${share.toFixed(2)}×`,
      pass: within(LONE_SHARE.promise),
      goal: { text: `${LONE_MS} ms, or ${LONE_SHARE.goal}×`, reached: within(LONE_SHARE.goal) },
    }
  }
  return [
    atLeast('unpaid 402/s, against the peer', ratioOf(unpaid[OURS]!, unpaid[PEER]!), 2.5, { goal: 3 }),
    atLeast('unpaid 402/s, against the bare server', ratioOf(unpaid[OURS]!, unpaid[FLOOR]!), 0.5, {
      goal: 0.7,
    }),
    atLeast('paid plans/s, 64 at once, against the peer in its kindest form', ratioOf(plans, kindest), 7, {
      goal: 10,
    }),
    atMostOf("CPU of a paid plan, 64 at once, of the peer's", plans.cpuMsEach / kindest.cpuMsEach, 0.15, {
      goal: 0.083,
    }),
    ...networkBars(results),
    { text: 'failures at that load: none', measured: String(plans.failed), pass: plans.failed === 0 },
    atMost(' blocks')(
      '2 s blocks, 256 at once: the last is served within three blocks',
      crowd.maxMs / BLOCK_MS,
      3,
      { also: crowd.failed === 0 },
    ),
    atMostOf("gas per payment, 64 at once, of the peer's", plans.gasEach! / kindest.gasEach!, 0.65, {
      goal: 0.6,
    }),
    atMostOf(
      "gas per payment, 256 at once, of the peer's",
      crowd.gasEach! / cell(CASES.peerCrowd).gasEach!,
      0.65,
      { goal: 0.6 },
    ),
    ...callBars(results),
    own(overhead.plan, 'a plan'),
    own(overhead.call, 'a proxied call'),
    own(overhead.embedded, 'payPerRequest in Express'),
    atLeast('Redis, of the embedded store', ratioOf(cell(CASES.redis), plans), 0.5),
    atLeast('Postgres, of the embedded store', ratioOf(cell(CASES.postgres), plans), 0.5),
    atLeast('100,000 stored challenges, against 100', ratioOf(stored.many, stored.few), 0.85, {
      also: stored.many.failed === 0,
    }),
    ...(prepaid ? prepaidBars(prepaid, kindest.perSecond) : []),
    ...(flood
      ? [
          atMost(' MiB')(
            `${flood.requests} unpaid requests leave memory as it was`,
            flood.rssGrowthMiB,
            FLOOD_MIB,
            { also: flood.failed === 0 },
          ),
          {
            text: `${flood.requests} unpaid requests leave the disk as it was`,
            measured: `${flood.diskGrowthBytes} bytes`,
            pass: flood.diskGrowthBytes === 0,
          },
        ]
      : []),
  ]
}
