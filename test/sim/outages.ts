import type { Address } from '../../src/protocol/hex.ts'
import type { SimChain } from './chain/sim-chain.ts'
import { address, START_MS, type World } from './world.ts'

const ETHER = 10n ** 18n

/** A time in which a chain does not work as it should. */
interface Trouble {
  chain: SimChain
  from: number
  to: number
  kind: 'no answers' | 'empty wallets' | 'one empty wallet'
}

/** When each chain of a history is out of order: drawn before it begins, so that it is known for every moment. */
export interface Outages {
  /** No call of this chain is answered. */
  isCutOff(chain: SimChain): boolean
  /** For how long nothing could be settled on this chain (ms); 0: something can. */
  downFor(chain: SimChain): number
  /** For how long nothing was wrong with this chain (ms). */
  wellFor(chain: SimChain): number
}

/** Each chain has outages of its own: short ones of its nodes, and long ones of nodes or gas wallets. */
export function drawOutages(world: World, chains: readonly SimChain[]): Outages {
  const { dice, scheduler, weather } = world
  const troubles: Trouble[] = chains.flatMap((chain) =>
    Array.from({ length: weather.outages }, (): Trouble => {
      const from = START_MS + dice.int(0, weather.horizonMs)
      return { chain, from, to: from + dice.skewed(1_000, 60_000), kind: 'no answers' }
    }),
  )
  /** Unless another outage keeps it empty. */
  const refill = (chain: SimChain, wallet: Address) => (): void => {
    if (current(chain, ['empty wallets']).length === 0) chain.ether.set(wallet, ETHER)
  }
  if (chains.length > 1) troubles.push(...drawLongOutages(world, chains, refill))
  for (const chain of chains) troubles.push(...fundGasWallets(world, chain, refill))
  const now = (): number => (world.calm ? Number.POSITIVE_INFINITY : scheduler.now())
  const current = (chain: SimChain, kinds: ReadonlyArray<Trouble['kind']>): Trouble[] =>
    troubles.filter((trouble) => {
      return (
        trouble.chain === chain && kinds.includes(trouble.kind) && trouble.from <= now() && now() < trouble.to
      )
    })
  return {
    isCutOff: (chain) => current(chain, ['no answers']).length > 0,
    downFor(chain) {
      const began = current(chain, ['no answers', 'empty wallets']).map(({ from }) => from)
      return began.length === 0 ? 0 : now() - Math.min(...began)
    },
    wellFor(chain) {
      const over = troubles.filter((trouble) => trouble.chain === chain && trouble.from <= now())
      return Math.max(0, now() - Math.max(START_MS, ...over.map(({ to }) => to)))
    },
  }
}

function gasWallets({ weather }: World): Address[] {
  return Array.from({ length: weather.gasWallets }, (_, index) => address('gaswallt', index + 1))
}

type Refill = (chain: SimChain, wallet: Address) => () => void

function drawLongOutages(world: World, chains: readonly SimChain[], refill: Refill): Trouble[] {
  const { extraDice, scheduler, weather } = world
  return Array.from({ length: weather.railOutages }, (): Trouble => {
    const chain = extraDice.pick(chains)
    const afterMs = extraDice.int(0, Math.round(weather.horizonMs * 0.6))
    const lastsMs = extraDice.int(30_000, 120_000)
    const from = START_MS + afterMs
    world.count('long outages')
    const empties = weather.strategy === 'gas-wallet' && extraDice.chance(0.4)
    if (!empties) return { chain, from, to: from + lastsMs, kind: 'no answers' }
    for (const wallet of gasWallets(world)) {
      scheduler.after(afterMs, () => chain.ether.set(wallet, 0n), true)
      scheduler.after(afterMs + lastsMs, refill(chain, wallet), true)
    }
    return { chain, from, to: from + lastsMs, kind: 'empty wallets' }
  })
}

/** Some wallets are empty at first, and get their ETH later. */
function fundGasWallets(world: World, chain: SimChain, refill: Refill): Trouble[] {
  const { dice, scheduler, weather } = world
  return gasWallets(world).flatMap((wallet): Trouble[] => {
    const empty = dice.chance(0.1)
    chain.ether.set(wallet, empty ? 0n : ETHER)
    if (!empty) return []
    const afterMs = dice.int(0, weather.horizonMs)
    scheduler.after(afterMs, refill(chain, wallet), true)
    return [{ chain, from: START_MS, to: START_MS + afterMs, kind: 'one empty wallet' }]
  })
}
