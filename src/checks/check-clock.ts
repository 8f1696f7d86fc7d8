import { durationWords } from '../protocol/duration.ts'
import type { Network } from '../protocol/network.ts'
import { createChainClient } from '../settlement/chain-client.ts'
import type { Check, Finding } from './run-checks.ts'

const MEND = 'Let the machine set its clock by NTP.'
/** `Date` has whole seconds, and an answer takes its time. */
const WARN_SECONDS = 30
/** By then tokens that we sign are expired or not valid yet elsewhere, and facilitators refuse our credentials. */
const ERROR_SECONDS = 300
const OLD_BLOCK_SECONDS = 120

/** The clock against the `Date` of servers that we ask anyway. The nearest counts: a cache may tell an old one. */
export function checkClock(urls: readonly string[], now: () => number = Date.now): Check {
  const name = 'clock'
  return {
    name,
    asks: 'the time of other servers',
    mend: 'Compare the clock by hand: date -u',
    silence: 'warn',
    async run(limitMs) {
      const asked = await Promise.allSettled(urls.map((url) => skewOf(url, limitMs, now)))
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
          mend: MEND,
        },
      ]
    },
  }
}

/** How far the other clock is ahead of ours; undefined where it does not tell. */
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

/** A node that lags confirms nobody's payment. On a test chain that stands still it is no fault, so it is a warning. */
export function checkFreshness(rpcUrl: string, network: Network, now: () => number = Date.now): Check {
  const name = 'RPC_URL'
  const { host } = new URL(rpcUrl)
  return {
    name,
    asks: `the RPC at ${host}, asked for its newest block,`,
    mend: 'Fix RPC_URL first.',
    silence: 'warn',
    async run(limitMs) {
      const { latest } = await createChainClient({ rpcUrl, network, timeoutMs: limitMs }).head()
      const age = Math.floor(now() / 1000) - latest.timestamp
      const message = `the newest block of ${host} is ${durationWords(Math.max(0, age))} old`
      const good: Finding = { name, level: 'ok', message }
      if (age <= OLD_BLOCK_SECONDS) return [good]
      const mend = 'The node lags behind, or this clock is ahead: use another RPC_URL, or set the clock.'
      return [{ name, level: 'warn', message, mend }]
    },
  }
}
