import { createChainClient } from '../chain/chain-client.ts'
import { durationWords } from '../protocol/duration.ts'
import { type CheckPlace, ofNetwork } from './check-place.ts'
import { type Check, eachWithin, type Finding } from './run-checks.ts'

const FIX = 'Let the machine set its clock by NTP.'
/** `Date` is in whole seconds, and an answer takes time. */
const WARN_SECONDS = 30
/** With such a clock, tokens that we sign are expired or not valid yet for others, and facilitators refuse our credentials. */
const ERROR_SECONDS = 300
const OLD_BLOCK_SECONDS = 120

/** Compares our clock with the `Date` header of servers that we use anyway. The closest counts: a cache may send an old one. */
export function checkClock(urls: readonly string[], now: () => number = Date.now): Check {
  const name = 'clock'
  return {
    name,
    asks: 'the time of other servers',
    fix: 'Compare the clock by hand: date -u',
    silence: 'warn',
    async run(limitMs) {
      const asked = await Promise.allSettled(urls.map((url) => skewOf(url, eachWithin(limitMs), now)))
      const skews = asked.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []))
      const [nearest] = skews.sort((a, b) => Math.abs(a.seconds) - Math.abs(b.seconds))
      if (!nearest) return [{ name, level: 'ok', message: 'no server that was asked tells the time' }]
      const { seconds, host } = nearest
      if (Math.abs(seconds) <= WARN_SECONDS) {
        return [{ name, level: 'ok', message: `the clock fits that of ${host}` }]
      }
      const level = Math.abs(seconds) > ERROR_SECONDS ? 'error' : 'warn'
      const word = seconds > 0 ? 'behind' : 'ahead of'
      return [
        {
          name,
          level,
          message: `the clock is ${durationWords(Math.abs(seconds))} ${word} that of ${host}`,
          fix: FIX,
        },
      ]
    },
  }
}

/** How far the other clock is ahead of ours; undefined if there is no `Date` header. */
async function skewOf(url: string, limitMs: number, now: () => number) {
  const before = now()
  const response = await fetch(url, {
    method: 'HEAD',
    redirect: 'manual',
    signal: AbortSignal.timeout(limitMs),
    headers: { 'cache-control': 'no-cache' },
  })
  const ours = (before + now()) / 2
  const theirs = Date.parse(response.headers.get('date') ?? '')
  await response.body?.cancel()
  if (Number.isNaN(theirs)) return undefined
  return { seconds: Math.round((theirs - ours) / 1000), host: new URL(url).host }
}

type FreshPlace = Pick<CheckPlace, 'network' | 'several'> & { labels: { rpcUrl: string } }

/** A node that lags behind confirms no payments. Only a warning, because a test chain may be idle. */
export function checkFreshness(rpcUrl: string, place: FreshPlace, now: () => number = Date.now): Check {
  const { network, labels } = place
  const name = labels.rpcUrl
  const { host } = new URL(rpcUrl)
  return {
    name,
    asks: `the RPC${ofNetwork(place)} at ${host}, asked for its newest block,`,
    fix: `Fix ${name} first.`,
    silence: 'warn',
    async run(limitMs) {
      const { latest } = await createChainClient({ rpcUrl, network, timeoutMs: limitMs }).head()
      const age = Math.floor(now() / 1000) - latest.timestamp
      const message = `the newest block of ${host}${place.several ? ` (${network.name})` : ''} is ${durationWords(Math.max(0, age))} old`
      const good: Finding = { name, level: 'ok', message }
      if (age <= OLD_BLOCK_SECONDS) return [good]
      const fix = `The node lags behind, or this clock is ahead: use another ${name}, or set the clock.`
      return [{ name, level: 'warn', message, fix }]
    },
  }
}
