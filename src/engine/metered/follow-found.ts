import type { AuthorizationRow, Block } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { EXPIRED, isDead } from '../../rules/judge-attempt.ts'
import { claimedEntry } from '../apply-event.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import type { AttemptTracker } from '../settle/attempt-tracker.ts'
import { refuseOlderView } from '../settle/final-uses.ts'
import { refuseDoubtful } from '../settle/look-at-chain.ts'
import { endUnpaid } from './leave-unpaid.ts'

/** The lease of a search. It is renewed while the search runs: on some chains that takes many minutes. */
const LEASE_MS = 60_000
/** How long after a search that decided nothing the next one begins. */
const AGAIN_MS = 30_000

/** May a transaction that the store does not know have settled this payment? Rows of earlier versions have no height. */
export function maySearch({ scheme }: OpenRail, { phase, fromHeight, foundTx }: AuthorizationRow): boolean {
  if (!scheme.metered?.findSettlement || fromHeight === 0 || foundTx !== undefined) return false
  return phase === 'CHARGED' || phase === 'BROADCAST' || phase === 'ABANDONED'
}

/**
 * If the store was restored from a backup, or lost its last steps, a transaction of ours may have settled a charge that
 * the store does not know. It is looked for on the chain, and the attempt is then followed as if it had just been sent.
 * That it was not settled is decided only by a search up to a final block past its deadline. Never rejects.
 */
export async function followFound(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  attempt: AuthorizationRow,
): Promise<void> {
  try {
    const searched = await searchUnderLease(core, rail, attempt)
    if (!searched) return
    const { row, txHash, finalized } = searched
    if (txHash !== undefined) return await follow(core, tracker, row, txHash)
    // The final blocks need not be searched again.
    const next = { ...row, fromHeight: finalized.number + 1, dueAt: core.clock.now() + AGAIN_MS }
    if (isDead(rail.scheme.factsOf(row.auth), undefined, finalized)) await giveUp(core, rail, tracker, next)
    else await commit(core, { puts: [{ table: 'authorizations', row: next }] })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unknown'
    rail.alerts.raise('job-failed', `search for the settlement of challenge ${attempt.challengeId}: ${why}`)
  }
}

interface Searched {
  txHash: Hex | undefined
  finalized: Block
}

/** Undefined: somebody else has changed the row. */
async function searchUnderLease(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
): Promise<(Searched & { row: AuthorizationRow }) | undefined> {
  let row = attempt
  let searching: Promise<Searched> | undefined
  for (;;) {
    const leased = { ...row, dueAt: core.clock.now() + LEASE_MS }
    const puts = [{ table: 'authorizations' as const, row: leased }]
    if (!(await commit(core, { puts, durability: 'deferred' }))) return undefined
    row = afterCommit(leased)
    if (!searching) {
      searching = search(core, rail, row)
      // If the lease cannot be renewed, nobody waits for it any more.
      searching.catch(() => {})
    }
    const searched = await Promise.race([searching, core.clock.sleep(LEASE_MS / 2)])
    if (searched) return { ...searched, row }
  }
}

/** The final block is read first: a search that ended below it may have missed something, and decides nothing. */
async function search(core: Core, rail: OpenRail, { auth, fromHeight }: AuthorizationRow): Promise<Searched> {
  const { finalized } = await rail.chain.head()
  const { at, txHash } = await rail.scheme.metered!.findSettlement!(auth, fromHeight)
  refuseOlderView(at, finalized)
  await refuseDoubtful(core, rail, at)
  return { txHash, finalized }
}

async function follow(
  core: Core,
  tracker: AttemptTracker,
  attempt: AuthorizationRow,
  foundTx: Hex,
): Promise<void> {
  const { phase, claim, sends, challengeId, payer } = attempt
  const now = core.clock.now()
  const dueAt = now + core.config.leaseMs
  if (phase === 'ABANDONED') {
    await commit(core, { puts: [{ table: 'authorizations', row: { ...attempt, foundTx, dueAt } }] })
    return
  }
  const row: AuthorizationRow = { ...attempt, phase: 'BROADCAST', foundTx, sends: sends + 1, dueAt }
  const applied = await commit(core, {
    puts: [{ table: 'authorizations', row }],
    audit: claim !== undefined && sends === 0 ? [claimedEntry(challengeId, claim, payer, now)] : [],
  })
  if (!applied) return
  const sent = [afterCommit(row)]
  tracker.watch(sent)
  tracker.noteSent(sent, true)
}

async function giveUp(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  attempt: AuthorizationRow,
): Promise<void> {
  switch (attempt.phase) {
    case 'CHARGED':
      await endUnpaid(core, rail, attempt, EXPIRED)
      return
    case 'ABANDONED': {
      const { answer: _, ...rest } = attempt
      await commit(core, {
        puts: [{ table: 'authorizations', row: { ...rest, phase: 'DEAD', dueAt: null } }],
      })
      return
    }
    default:
      await tracker.refused(attempt, EXPIRED)
  }
}
