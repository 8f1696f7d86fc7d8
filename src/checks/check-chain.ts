import { createChainClient } from '../chain/chain-client.ts'
import { multicallFaults } from '../chain/check-contracts.ts'
import { durationWords } from '../protocol/duration.ts'
import { type CheckPlace, ofNetwork } from './check-place.ts'
import type { Check, Finding } from './run-checks.ts'

/** If the newest block is further in the future than this, our own clock is behind. */
const MAX_SKEW_SECONDS = 30

/** Is the RPC a node of this network, with the expected token, and does it report finalized blocks? */
export function checkChain(rpcUrl: string, place: CheckPlace, now: () => number = Date.now): Check {
  const { network, labels } = place
  const name = labels.rpcUrl
  const asks = `the RPC${ofNetwork(place)} at ${new URL(rpcUrl).host}`
  const fix = `Set ${name} to a node of ${network.id} that this server can reach.`
  return {
    name,
    asks,
    fix,
    // While the first answers, the others are not needed.
    ...(rpcUrl !== network.rpcUrls[0] && { silence: 'warn' }),
    async run(limitMs) {
      const chain = createChainClient({ rpcUrl, network, timeoutMs: limitMs })
      const found = await chain.domain()
      const expected = { chainId: network.chainId, ...network.token.domain }
      const wrong = (['chainId', 'name', 'version'] as const)
        .filter((field) => found[field] !== expected[field])
        .map((field) => `${field} ${found[field] || 'nothing'} instead of ${expected[field]}`)
      if (wrong.length > 0) {
        const message = `${asks} answers ${wrong.join(', ')}: it is not one of ${network.id}`
        return [{ name, level: 'error', message, fix }]
      }
      const [lacking] = await multicallFaults(chain.rpc, network)
      if (lacking) return [{ name, level: 'error', message: lacking, fix }]
      const { latest } = await chain.head()
      const good: Finding = { name, level: 'ok', message: `${asks} is at block ${latest.number}` }
      return [good, clockFinding(latest.timestamp, now(), ofNetwork(place))]
    },
  }
}

/** The newest block of an idle chain may be old, so only a block from the future is a fault. */
function clockFinding(blockSeconds: number, nowMs: number, which: string): Finding {
  const behind = blockSeconds - Math.floor(nowMs / 1000)
  if (behind <= MAX_SKEW_SECONDS)
    return { name: 'clock', level: 'ok', message: `the clock fits the chain${which}` }
  const message = `the clock is ${durationWords(behind)} behind the chain${which}`
  return { name: 'clock', level: 'warn', message, fix: 'Let the machine set its clock by NTP.' }
}
