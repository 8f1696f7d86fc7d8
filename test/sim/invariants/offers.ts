import type { Offer } from '../../../src/engine/outcome.ts'
import type { PaymentPayload } from '../../../src/protocol/payment.ts'
import type { Reply } from '../buyers/shop.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import type { Outside } from '../outside.ts'
import type { RecordedStore } from '../ports/recorded-store.ts'
import { DEAR_CHAIN, LOST_PER_DAY, METERED_ROUTE, type World } from '../world.ts'

/** Within this time every instance must have noticed that a chain is down, or that it is back. */
const NOTICED_MS = 25_000

/**
 * I14: a rail that cannot settle is not offered while another is, a rail that works is, and none whose gas the price does
 * not carry. Called for every offer that an instance makes; `ageMs`: how long it has been running.
 */
export function checkOffer(outside: Outside, ageMs: number, { rails, itemId }: Offer): void {
  const { world, chains, outages } = outside
  if (chains.length === 1 || ageMs < NOTICED_MS || world.calm) return
  world.count('offers checked')
  const offered = chains.filter(({ network }) => rails.some((rail) => rail.network.id === network.id))
  const isMetered = itemId === METERED_ROUTE.routeId
  const isLastResort = offered.length === 1 && offered[0] === chains[0]
  for (const chain of chains) {
    if (isMetered && chain.scheme === 'coupon') continue
    const isOffered = offered.includes(chain)
    const tooDear = isTooDear(world, chains, chain, itemId)
    if (isOffered && tooDear)
      world.violate('I14', `${itemId} is offered on ${chain.network.name}, whose gas it does not carry`)
    if (isOffered && outages.downFor(chain) > NOTICED_MS && !isLastResort)
      world.violate(
        'I14',
        `${chain.network.name} is offered, and has been down for ${outages.downFor(chain)} ms`,
      )
    if (!isOffered && !tooDear && isClear(world) && outages.wellFor(chain) > NOTICED_MS)
      world.violate('I14', `${chain.network.name} works, and is not offered`)
    if (!isOffered) world.count('offers without a chain')
  }
}

function isTooDear(
  { weather }: World,
  chains: readonly SimChain[],
  chain: SimChain,
  itemId: string,
): boolean {
  return weather.strategy === 'gas-wallet' && chain === chains[DEAR_CHAIN] && itemId === 'weather'
}

/** Nothing else fails: whatever is refused is refused because of an outage. */
function isClear({ weather }: World): boolean {
  const { rejected, lostAnswer, stale, phantoms, maxLatencyMs } = weather
  return rejected + lostAnswer + stale + phantoms === 0 && maxLatencyMs <= 200
}

/**
 * What a payment is answered while its chain is down or works. `sentAgoMs`: how long ago it was sent for the first time.
 */
export function checkAnswer(
  outside: Outside,
  payment: PaymentPayload,
  sentAgoMs: number,
  reply: Reply,
): void {
  const { world, chains, outages } = outside
  if (typeof reply === 'string' || reply.kind !== 'failed' || chains.length === 1 || world.calm) return
  const chain = chains.find(({ network }) => network.id === payment.accepted?.network)
  if (!chain) return
  const { code, message } = reply.error
  // Nobody can know that a payment fails on a chain that nobody could ask or pay for since before it was sent.
  if (code === 'PAYMENT_FAILED' && outages.downFor(chain) > sentAgoMs + NOTICED_MS)
    world.violate('I14', `a payment on ${chain.network.name}, which is down, was answered 402: ${message}`)
  if (CANNOT_SETTLE.test(message) && isClear(world) && outages.wellFor(chain) > NOTICED_MS)
    world.violate('I14', `a sale on ${chain.network.name}, which works, was refused: ${message}`)
}

/**
 * A payer is refused for what it lost on this chain, and not on another. Each payment of a wallet with code risks the same
 * gas, so that a budget is used up by so many of them.
 */
export async function checkRefusal(
  { world, chains }: Outside,
  recorded: RecordedStore,
  payment: PaymentPayload,
  reply: Reply,
): Promise<void> {
  if (typeof reply === 'string' || reply.kind !== 'failed' || world.weather.losses > 0) return
  if (!/failed on chain too often today/.test(reply.error.message)) return
  const { from } = payment.payload.authorization
  const chain = chains.find(({ network }) => network.id === payment.accepted?.network)
  const code = chain?.token.codes.get(from)
  if (!chain || chain === chains[DEAR_CHAIN] || (code !== 'burns' && code !== 'flips')) return
  world.count('payers refused for lost gas')
  const attempts = await recorded.readAll('authorizations')
  const lost = attempts.filter(({ payer, rail, phase }) => {
    return (
      payer === from && rail.startsWith(`${chain.network.id}/`) && (phase === 'ABANDONED' || phase === 'DEAD')
    )
  })
  if (lost.length < LOST_PER_DAY)
    world.violate(
      'I14',
      `${from.slice(-3)} lost ${lost.length} payments on ${chain.network.name}, and is refused there`,
    )
}

const CANNOT_SETTLE = /cannot settle payments now: the (chain|gas wallet)/
