import { UnavailableError } from '../errors.ts'
import type { Block, SignedAuthorization, SimResult } from '../ports.ts'
import type { Core } from './core.ts'

const STALE_LOOKS = 5

export interface Look {
  at: Pick<Block, 'number' | 'timestamp'>
  results: SimResult[]
  finalizedHeight: number
}

/**
 * What the chain says of these authorizations, at a block not below any believed before, also by the other half of this
 * look: a node that is behind shows as unused what everybody can read. Asked after the claim is stored, for only so does
 * "unused" mean unused.
 */
export async function lookAtChain(core: Core, auths: readonly SignedAuthorization[]): Promise<Look> {
  let shown = 0
  for (let turn = 0; turn < STALE_LOOKS; turn++) {
    // The first time, a block may just have come between the two answers.
    if (turn > 1) await core.clock.sleep(core.config.pollIntervalMs)
    const [{ latest, finalized }, { at, results }] = await Promise.all([
      core.chain.head(),
      core.chain.simulate(auths, core.settlement.gasWallet),
    ])
    shown = at.number
    if (core.head.weigh(latest, at) === 'fits' && at.number === core.head.number) {
      return { at, results, finalizedHeight: Math.min(finalized.number, at.number) }
    }
  }
  const { number } = core.head
  core.alerts.raise(
    'chain-inconsistent',
    `the RPC is at block ${shown}, and block ${number} was seen before: nothing is sold until they fit together`,
  )
  throw new UnavailableError(`an RPC node that has block ${number}`)
}

/** A block that does not fit what was seen before decides nothing, unless the whole chain is there by now. */
export async function refuseDoubtful(core: Core, at: Block): Promise<void> {
  if (core.head.weigh(at) !== 'ahead') return
  await lookAtChain(core, [])
  if (core.head.weigh(at) === 'ahead')
    throw new UnavailableError(`an RPC whose blocks fit together (block ${at.number} does not)`)
}
