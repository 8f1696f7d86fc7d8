import { UnavailableError } from '../../errors.ts'
import type { Block, Signed, SimResult } from '../../ports.ts'
import type { Core } from '../core.ts'
import { CHAIN_UNREADABLE } from '../rail-standing.ts'
import type { OpenRail } from '../rails.ts'

const STALE_LOOKS = 5

export interface Look {
  at: Pick<Block, 'number' | 'timestamp'>
  results: SimResult[]
  finalizedHeight: number
}

/**
 * Simulates these payments at the latest block. The block must not be below any that was believed before, nor below
 * the head that the same look shows: a node that is behind reports used payments as unused. A claim is stored before
 * its look: otherwise another instance could still send the payment after the look.
 */
export async function lookAtChain(core: Core, rail: OpenRail, payments: readonly Signed[]): Promise<Look> {
  let shown = 0
  for (let turn = 0; turn < STALE_LOOKS; turn++) {
    // No pause before the second try: a new block may just have come between the two answers.
    if (turn > 1) await core.clock.sleep(pollMsOn(core, rail))
    const [{ latest, finalized }, { at, results }] = await Promise.all([
      rail.chain.head(),
      rail.scheme.simulate(payments, rail.settlement.fundedWallet?.()),
    ])
    shown = at.number
    if (rail.head.weigh(latest, at) === 'fits' && at.number === rail.head.number) {
      return { at, results, finalizedHeight: Math.min(finalized.number, at.number) }
    }
  }
  const { number } = rail.head
  rail.alerts.raise(
    'chain-inconsistent',
    `the RPC is at block ${shown}, and block ${number} was seen before: nothing is sold until they fit together`,
  )
  throw new UnavailableError(`an RPC node that has block ${number}`)
}

/** From this block time on, a chain need not be asked as often as one with a block every two seconds. */
const SLOW_BLOCKS_MS = 4_000

/** The shortest time between two questions to this chain: as configured, but not more than four times per slow block. */
export function pollMsOn({ config }: Pick<Core, 'config'>, { network }: Pick<OpenRail, 'network'>): number {
  return network.blockMs < SLOW_BLOCKS_MS
    ? config.pollIntervalMs
    : Math.max(config.pollIntervalMs, network.blockMs / 4)
}

/**
 * Rejects if this block does not fit the blocks before it, unless a new look shows that the chain is really there.
 */
export async function refuseDoubtful(core: Core, rail: OpenRail, at: Block): Promise<void> {
  if (rail.head.weigh(at) !== 'ahead') return
  await lookAtChain(core, rail, [])
  if (rail.head.weigh(at) === 'ahead')
    throw new UnavailableError(`an RPC whose blocks fit together (block ${at.number} does not)`)
}

/** Why nothing can be settled on this rail now; undefined if it can. Never rejects. */
export async function whyUnable(rail: OpenRail): Promise<string | undefined> {
  try {
    const [unavailable] = await Promise.all([rail.settlement.unavailable(), rail.chain.head()])
    return unavailable
  } catch {
    return CHAIN_UNREADABLE
  }
}
