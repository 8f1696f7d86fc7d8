import type { AuditEntry, AuthorizationRow, Batch, Sendable, SimResult } from '../../ports.ts'
import { claimedEntry } from '../apply-event.ts'
import { holdGas, type Risk } from '../budgets/gas-budget.ts'
import { settleHolds } from '../budgets/holds.ts'
import type { OverBudget } from '../budgets/over-budget.ts'
import { refuseUndelivered } from '../budgets/refund-cap.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import { carriedBy } from '../metered/carriers.ts'
import { followFound, maySearch } from '../metered/follow-found.ts'
import { leaveUnpaid } from '../metered/leave-unpaid.ts'
import { CHAIN_UNREADABLE } from '../rail-standing.ts'
import type { OpenRail } from '../rails.ts'
import { withResolvers } from '../signals.ts'
import type { AttemptTracker } from './attempt-tracker.ts'
import { batchAhead, dropAll, sendableOf } from './batch-ahead.ts'
import { findCancelled } from './find-cancelled.ts'
import { type Look, lookAtChain } from './look-at-chain.ts'
import { refusalOf } from './refusal-of.ts'
import { type ClaimOutcome, release, releaseAll } from './release-claim.ts'

/**
 * Sends claimed payments. While idle it sends at once. While busy it collects new claims for one common look and few
 * transactions, because payments that share a transaction share its gas.
 */
export interface Broadcaster {
  add(attempt: AuthorizationRow): Promise<ClaimOutcome>
}

const MAX_BATCH = 200
/** Fewer than this save little gas by sharing a transaction, so they wait only for a moment. */
const SMALL_BATCH = 8
/**
 * Instances that share a gas wallet may propose the same nonce. The one whose insert is refused waits for a random
 * time and tries again.
 */
const NONCE_RACES = 32
const LONGEST_BACKOFF_MS = 160

export function createBroadcaster(core: Core, rail: OpenRail, tracker: AttemptTracker): Broadcaster {
  const { batchSize } = rail.settlement
  const queue = new Map<string, { attempt: AuthorizationRow; resolve: (outcome: ClaimOutcome) => void }>()
  let busy = false
  let full: (() => void) | undefined

  /**
   * While earlier payments are under way, new ones wait to share a transaction. The wait ends when one of the earlier
   * ones is decided, when the time is over, when a transaction is full, or when only few are waiting and no more
   * arrive.
   */
  async function gather(): Promise<void> {
    const { quietMs, gatherMs } = core.config
    const progress = tracker.progress()
    if (batchSize < 2 || gatherMs === 0 || !progress) return
    const untilMs = core.clock.now() + gatherMs
    let decided = false
    const progressed = progress.then(() => {
      decided = true
    })
    let before = 0
    while (!decided && queue.size < batchSize && core.clock.now() < untilMs) {
      if (queue.size === before && before < SMALL_BATCH) return
      before = queue.size
      const filled = withResolvers()
      full = filled.resolve
      await Promise.race([filled.promise, progressed, core.clock.sleep(quietMs)])
      full = undefined
    }
  }

  async function drain(): Promise<void> {
    busy = true
    // Waits one microtask turn, so that claims of one tick share a transaction.
    await Promise.resolve()
    while (queue.size > 0) {
      await gather()
      const waiting = [...queue.values()].slice(0, MAX_BATCH)
      for (const { attempt } of waiting) queue.delete(attempt.key)
      const outcomes = await broadcast(
        core,
        rail,
        tracker,
        waiting.map((entry) => entry.attempt),
      ).catch((cause: unknown) => {
        rail.alerts.raise('job-failed', `broadcast: ${cause instanceof Error ? cause.message : 'unknown'}`)
        return new Map<string, ClaimOutcome>()
      })
      for (const { attempt, resolve } of waiting) resolve(outcomes.get(attempt.key) ?? { kind: 'taken' })
    }
    busy = false
  }

  return {
    add(attempt) {
      const { promise, resolve } = withResolvers<ClaimOutcome>()
      // The earlier claim waited until its lease lapsed, and the payment was claimed again: only the newest claim may
      // be sent.
      queue.get(attempt.key)?.resolve({ kind: 'taken' })
      queue.set(attempt.key, { attempt, resolve })
      if (!busy) void drain()
      else if (queue.size >= batchSize) full?.()
      return promise
    },
  }
}

/**
 * Looks at the chain, stores the attempts as BROADCAST (T1b) and sends them: new claims, and attempts whose last
 * transaction failed or was replaced.
 */
export async function broadcast(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  attempts: readonly AuthorizationRow[],
): Promise<Map<string, ClaimOutcome>> {
  const outcomes = new Map<string, ClaimOutcome>()
  let look: Look
  const looking = lookAtChain(
    core,
    rail,
    attempts.map(({ auth }) => auth),
  )
  looking.catch(() => core.rails.standing.refused(rail, CHAIN_UNREADABLE))
  const capped = refuseUndelivered(core, attempts)
  // If the look fails first, a later failure of this promise must not be an unhandled rejection.
  capped.catch(() => {})
  // On an exclusive store no other instance competes for nonces, so batches are prepared during the look.
  const preparing =
    core.store.exclusive && !rail.scheme.metered ? batchAhead(core, rail, attempts) : undefined
  let refused: Map<string, OverBudget>
  try {
    look = await looking
    refused = await capped
  } catch {
    dropAll(await preparing)
    // Nothing was sent: the claims are released, and the answer asks the buyer to send the same payload again.
    await releaseAll(core, attempts, outcomes)
    return outcomes
  }
  const sound: Item[] = []
  const used: AuthorizationRow[] = []
  const searched: AuthorizationRow[] = []
  await Promise.all(
    attempts.map(async (attempt, index) => {
      const result = look.results[index]!
      if (result.kind === 'used' && attempt.phase === 'CLAIMED') return void used.push(attempt)
      const refusal = refusalOf(rail, attempt, result, look.at.timestamp)
      if (result.kind === 'used' && maySearch(rail, attempt)) {
        outcomes.set(attempt.key, { kind: 'searched' })
        searched.push(attempt)
        return
      }
      if (refusal && attempt.phase === 'CHARGED') {
        const isOver =
          result.kind === 'used' || rail.scheme.validityFault(attempt.auth, look.at.timestamp) !== undefined
        if (!isOver || !maySearch(rail, attempt))
          return leaveUnpaid(core, rail, attempt, isOver, refusal, outcomes)
        // A transaction that the store lost may have settled it before it ran out.
        outcomes.set(attempt.key, { kind: 'unpaid', error: refusal })
        searched.push(attempt)
        return
      }
      if (refusal && attempt.phase === 'CLAIMED') return release(core, attempt, refusal, outcomes)
      if (refusal) {
        // Its last transaction did not pay, and a new one would fail too. Without a wallet transaction a facilitator
        // may still have it under way.
        if (result.kind === 'fails' && attempt.walletTx !== null)
          await tracker.refused(attempt, result.reason)
        return
      }
      const row = {
        ...attempt,
        fromHeight:
          attempt.phase === 'CLAIMED' || attempt.phase === 'CHARGED'
            ? look.finalizedHeight
            : attempt.fromHeight,
      }
      const over = refused.get(attempt.key)
      if (over) return release(core, attempt, over.error, outcomes, over.later)
      const { alone, plain, gas, sender } = result.kind === 'ok' ? result : { alone: false }
      sound.push({
        ...sendableOf(row),
        alone,
        row,
        ...(plain && { plain }),
        ...(gas !== undefined && { gas }),
        ...(sender && { sender }),
      })
    }),
  )
  const good = await withinGasBudget(core, rail, tracker, sound, outcomes)
  const prepared = await preparing
  const asPrepared = good.length === attempts.length && good.every(({ alone }) => !alone)
  if (!asPrepared) dropAll(prepared)
  await sendAll(core, rail, tracker, good, outcomes, asPrepared ? prepared : undefined)
  // Nothing waits for a search: it may take long.
  for (const attempt of searched) void followFound(core, rail, tracker, attempt)
  const cancelled = await findCancelled(rail, used, look)
  await Promise.all(
    used.map((attempt) => {
      const result: SimResult = cancelled.has(attempt) ? CANCELLED : { kind: 'used' }
      return release(core, attempt, refusalOf(rail, attempt, result, look.at.timestamp)!, outcomes)
    }),
  )
  return outcomes
}

const CANCELLED: SimResult = { kind: 'fails', reason: 'canceled' }

/** A claim that may be sent. */
type Item = Sendable & Risk

/**
 * Returns the payments whose gas may be risked. The others are released, or abandoned if an earlier transaction of
 * theirs failed.
 */
async function withinGasBudget(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  items: readonly Item[],
  outcomes: Map<string, ClaimOutcome>,
): Promise<Item[]> {
  const { held, over } = await holdGas(core, rail, items)
  await Promise.all(
    held.map(async ({ row }) => {
      const refusal = over.get(row.key)
      if (!refusal || isOwed(row)) return
      if (row.phase === 'CLAIMED') return release(core, row, refusal.error, outcomes, refusal.later)
      if (row.walletTx !== null) return tracker.refused(row, refusal.error.message)
      // A charge for which nothing was held before its call. It is tried again, and must hold its gas again.
      const { gasHolds = [], ...rest } = row
      if (await commit(core, { puts: [{ table: 'authorizations', row: rest }] }))
        await settleHolds(core, gasHolds, 'returned')
    }),
  )
  return held.filter(({ row }) => isOwed(row) || !over.has(row.key))
}

/**
 * It was sent, and no transaction of ours can pay it any more: a reorganisation undid that, and what it paid for is out. Not to
 * send it again would cost more than its gas.
 */
const isOwed = ({ phase, walletTx }: AuthorizationRow): boolean => phase === 'BROADCAST' && walletTx === null

async function sendAll(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  items: readonly Item[],
  outcomes: Map<string, ClaimOutcome>,
  prepared?: Batch[],
): Promise<void> {
  let left = new Map(items.map((item) => [item.row.key, item]))
  for (let race = 0; left.size > 0 && race < NONCE_RACES; race++) {
    if (race > 0) await backOff(core, race)
    let batches: Batch[]
    try {
      batches = (race === 0 && prepared) || (await rail.settlement.makeBatches([...left.values()]))
    } catch {
      return releaseAll(
        core,
        [...left.values()].map((item) => item.row),
        outcomes,
      )
    }
    const again = new Map<string, Item>()
    await Promise.all(
      batches.map(async (batch) => {
        const members = batch.keys.map((key) => left.get(key)!)
        const rows = members.map((member) => broadcastRow(core, rail, member.row, batch))
        const result = await core.store.commit({
          puts: [...rows.map((row) => ({ table: 'authorizations' as const, row })), ...batch.puts],
          audit: members.flatMap(({ row }) => claimEntry(row, core.clock.now())),
        })
        if (result.kind === 'applied') {
          for (const row of rows) outcomes.set(row.key, { kind: 'broadcast' })
          const sent = rows.map(afterCommit)
          tracker.watch(sent, batch.awaitsBlock?.())
          void sendBatch(core, tracker, batch, sent)
          return
        }
        batch.drop()
        // A member that another process took over is dropped; the others, and batches that lost a nonce, are tried
        // again.
        for (const member of members) {
          const { key } = member.row
          if (result.table === 'authorizations' && result.key === key) outcomes.set(key, { kind: 'taken' })
          else again.set(key, member)
        }
      }),
    )
    left = again
  }
}

/**
 * The claim is logged with its first send. Challenges and claims that are never sent may be many, and must not grow
 * the log.
 */
function claimEntry({ challengeId, claim, payer, sends }: AuthorizationRow, loggedAt: number): AuditEntry[] {
  return claim && sends === 0 ? [claimedEntry(challengeId, claim, payer, loggedAt)] : []
}

async function backOff(core: Core, race: number): Promise<void> {
  const longestMs = Math.min(LONGEST_BACKOFF_MS, 10 * 2 ** race)
  await core.clock.sleep(core.random.bytes(1)[0]! % longestMs)
}

function broadcastRow(
  core: Core,
  rail: OpenRail,
  row: AuthorizationRow,
  { walletTx }: Batch,
): AuthorizationRow {
  const dueAt = core.clock.now() + core.config.leaseMs
  return { ...carriedBy(rail, row, walletTx), phase: 'BROADCAST', sends: row.sends + 1, dueAt }
}

async function sendBatch(
  core: Core,
  tracker: AttemptTracker,
  batch: Batch,
  rows: readonly AuthorizationRow[],
): Promise<void> {
  let mined = false
  try {
    const sent = await batch.send(true)
    mined = sent.kind === 'sent' && sent.mined === true
    // Only a refusal of the first send is certain: an earlier send may still be under way.
    if (sent.kind === 'refused') {
      for (const row of rows) if (row.sends === 1) await tracker.refused(row, sent.reason)
    }
  } catch (cause) {
    core.alerts.raise('job-failed', `send: ${cause instanceof Error ? cause.message : 'unknown'}`)
  }
  tracker.noteSent(rows, mined)
}
