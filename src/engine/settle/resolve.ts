import type { AuthorizationRow, Block, FoundUses, Use, WalletTxRow } from '../../ports.ts'
import { EXPIRED, isDead, judgeAttempt, type Verdict } from '../../rules/judge-attempt.ts'
import { auditEntry, putChallenge } from '../apply-event.ts'
import { settleGas } from '../budgets/gas-budget.ts'
import { settleHolds } from '../budgets/holds.ts'
import { type Core, commit } from '../core.ts'
import { carriersOf } from '../metered/carriers.ts'
import { followFound, maySearch } from '../metered/follow-found.ts'
import { writeOffStream } from '../metered/stream-call.ts'
import type { OpenRail } from '../rails.ts'
import { withResolvers } from '../signals.ts'
import type { AttemptTracker } from './attempt-tracker.ts'
import { broadcast } from './broadcast.ts'
import { type Confirmed, confirmPayments } from './confirm.ts'
import { finalUses } from './final-uses.ts'
import { pollMsOn, refuseDoubtful } from './look-at-chain.ts'
import { withoutLive } from './release-claim.ts'
import { usedUnseen } from './used-unseen.ts'

/**
 * The next look follows after at most this share of the time since the send. A buyer then waits at most that much
 * longer than the chain took.
 */
const PATIENCE = 1 / 8
/** A node that answers within this time is near, and is asked QUICK_LOOKS times without a pause. */
const NEAR_MS = 1
const QUICK_LOOKS = 20

/** No send waits longer for its block; if one does, we look all the same. */
const LONGEST_SEND_MS = 5_000

/** While we look once per block, a look for uses by others as well is made this often. */
const WHOLE_LOOK_MS = 5_000

/** How often an abandoned attempt is checked until it can no longer land. */
const ABANDONED_RECHECK_MS = 60_000

/**
 * Decides from the chain what became of attempts that may have been sent. It watches those that this instance sent,
 * and those that it took over after a lease lapsed, with the same code.
 */
export interface Resolver extends AttemptTracker {
  /** Takes over attempts whose lease lapsed: watches them, and sends those again that have no wallet transaction. */
  adopt(rows: readonly AuthorizationRow[]): Promise<void>
  /** Resolves when nothing is watched any more or the engine stops. */
  idle(): Promise<void>
  stop(): void
}

export function createResolver(core: Core, rail: OpenRail): Resolver {
  const watched = new Map<string, AuthorizationRow>()
  /** Those of them whose send will tell when they are in a block. */
  const awaited = new Set<string>()
  let running: Promise<void> | undefined
  let stopped = false
  let wake: (() => void) | undefined
  let justSent = false
  let mined = false
  let holding = false
  let progress: ReturnType<typeof withResolvers<void>> | undefined

  async function run(): Promise<void> {
    const pollIntervalMs = pollMsOn(core, rail)
    let pauseMs = pollIntervalMs
    let wholeLookAt = core.clock.now()
    let sentAt = wholeLookAt
    let quickLooks = 0
    let quickestMs = pollIntervalMs
    let upTo = rail.head.number
    let floorMs = 0
    while (watched.size > 0 && !stopped) {
      if ([...watched.keys()].every((key) => awaited.has(key))) {
        holding = true
        const called = await firstOf(LONGEST_SEND_MS)
        holding = false
        if (!called) awaited.clear()
        continue
      }
      // Our own transactions can only be in a later block than the last one we saw, so there is no point in looking
      // before that.
      const own = [...watched.values()].every((row) => row.walletTx !== null)
      const blockMs = own ? rail.chain.untilBlockAboveMs?.(upTo) : undefined
      // Something that was sent during the last look counts as well.
      const atOnce =
        mined || (blockMs === undefined && (justSent || (quickestMs <= NEAR_MS && quickLooks-- > 0)))
      if (!atOnce) {
        const waitMs = blockMs === undefined ? pauseMs : Math.max(floorMs, Math.min(pollIntervalMs, blockMs))
        if (blockMs !== undefined) justSent = false
        await firstOf(Math.max(1, waitMs))
        // A send does not change when the next block comes.
        if (justSent && !mined && blockMs !== undefined && !stopped) continue
      }
      const lookedAt = core.clock.now()
      // A clock that was put back must not make every look seem to follow the last one at once.
      wholeLookAt = Math.min(wholeLookAt, lookedAt)
      sentAt = Math.min(sentAt, lookedAt)
      if (justSent) {
        sentAt = lookedAt
        quickLooks = QUICK_LOOKS
        quickestMs = pollIntervalMs
      }
      justSent = false
      mined = false
      const brief = lookedAt - wholeLookAt < (blockMs === undefined ? pollIntervalMs : WHOLE_LOOK_MS)
      if (!brief) wholeLookAt = lookedAt
      const rows = [...watched.values()]
      if (stopped || rows.length === 0) break
      try {
        const { at, decided } = await resolveAttempts(core, rail, resolver, rows, brief)
        upTo = at.number
        floorMs = core.clock.now() - lookedAt
        for (const [row, next] of decided) {
          // A row that was taken over again in the meantime is newer than this verdict.
          if (watched.get(row.key) !== row) continue
          if (next) watched.set(row.key, next)
          else watched.delete(row.key)
          progress?.resolve()
          progress = undefined
        }
      } catch (cause) {
        // Chain or store did not answer: nothing is decided, and the next look asks again.
        floorMs = pollIntervalMs
        rail.alerts.raise('job-failed', `resolve: ${cause instanceof Error ? cause.message : 'unknown'}`)
      }
      // A payment that was just sent is mined soon. The next look comes after the quickest answer time so far (a late
      // answer may only mean that the node was making our block), and no later than PATIENCE allows.
      const answeredAt = core.clock.now()
      quickestMs = Math.min(quickestMs, Math.max(0, answeredAt - lookedAt))
      pauseMs = Math.min(pollIntervalMs, Math.max(quickestMs, (answeredAt - sentAt) * PATIENCE))
    }
    running = undefined
  }

  /** Waits until somebody calls, which is true, or for so long. */
  async function firstOf(waitMs: number): Promise<boolean> {
    const called = withResolvers()
    wake = called.resolve
    return Promise.race([core.clock.sleep(waitMs).then(() => false), called.promise.then(() => true)])
  }

  const resolver: Resolver = {
    watch(rows, awaitsBlock = false) {
      for (const row of rows) {
        watched.set(row.key, row)
        if (awaitsBlock) awaited.add(row.key)
        else awaited.delete(row.key)
      }
      if (!running && !stopped) running = run()
      else if (holding && !awaitsBlock) wake?.()
    },
    noteSent(rows, isMined) {
      for (const { key } of rows) awaited.delete(key)
      mined ||= isMined
      justSent = true
      wake?.()
    },
    progress() {
      if (watched.size === 0) return undefined
      progress ??= withResolvers()
      return progress.promise
    },
    async refused(row, reason) {
      const known = watched.get(row.key)
      const current = known && known.version > row.version ? known : row
      // It was sent again since, by another job of this process, and that send may still land.
      if (current.sends !== row.sends) return
      if (await abandon(core, current, reason)) watched.delete(row.key)
    },
    async adopt(rows) {
      resolver.watch(rows)
      const unattended = rows.filter((row) => row.walletTx === null)
      if (unattended.length > 0) await broadcast(core, rail, resolver, unattended)
    },
    async idle() {
      while (running) await running
    },
    stop() {
      stopped = true
      wake?.()
      progress?.resolve()
    },
  }
  return resolver
}

/** A row that was judged, and the row to watch instead (undefined: none). */
type Judged = [AuthorizationRow, AuthorizationRow | undefined]

/**
 * One look at the chain for many attempts, and one step for each that is decided. Undecided ones are not in the
 * answer. A brief look sees only what our own transactions did.
 */
export async function resolveAttempts(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  rows: readonly AuthorizationRow[],
  brief = false,
): Promise<{ at: Block; decided: Judged[] }> {
  const transactions = await walletTransactions(core, rows)
  const hashes = [
    ...[...transactions.values()].flatMap((tx) => tx.hashes),
    ...rows.flatMap(({ foundTx }) => foundTx ?? []),
  ]
  const keys = rows.map(keyOf)
  const fromHeight = Math.min(...rows.map((row) => row.fromHeight))
  // Only abandoned attempts need finality to end; those in flight are decided at the latest block.
  const abandoned = rows.some((row) => row.phase !== 'BROADCAST')
  const own = brief && !abandoned && rows.every((row) => row.walletTx !== null)
  const ifMined = own ? await rail.scheme.usesIfMined(keys, fromHeight, hashes) : undefined
  if (ifMined && !ifMined.uses) return { at: ifMined.at, decided: [] }
  const seen: FoundUses & { finalized?: Block } =
    ifMined?.uses ??
    (abandoned
      ? await finalUses(core, rail, keys, fromHeight, hashes)
      : await rail.scheme.uses(keys, fromHeight, hashes))
  const { at, found, mined, finalized } = seen
  const minedBy = new Map(mined.map((tx) => [tx.hash, tx]))
  if (!finalized) await refuseDoubtful(core, rail, at)
  const uses = new Map(found.map((use) => [use.key, use]))

  const failures: Failure[] = []
  const confirmed: Confirmed[] = []
  const rebind: AuthorizationRow[] = []
  for (const row of rows) {
    const use = uses.get(row.key)
    const walletTx = row.walletTx === null ? undefined : transactions.get(row.walletTx)
    const tx = walletTx?.hashes.map((hash) => minedBy.get(hash)).find((hit) => hit !== undefined)
    const verdict = judgeAttempt(
      rail.scheme.factsOf(row.auth),
      { use, at, walletTx, mined: tx },
      rail.confirmations,
    )
    if (verdict.kind === 'confirmed') confirmed.push({ attempt: row, use: verdict.use })
    else if (verdict.kind === 'rebind' && row.phase === 'BROADCAST')
      rebind.push({ ...row, batchLimit: verdict.batchLimit ?? row.batchLimit })
    else if (verdict.kind !== 'wait' || row.phase !== 'BROADCAST') failures.push({ row, verdict, use })
  }
  const paid = await confirmPayments(core, rail, confirmed)
  void settleGas(
    core,
    rows.filter(({ key }) => paid.has(key)),
    'returned',
  )
  const expired = failures.flatMap(({ row, verdict, use }) =>
    row.phase === 'BROADCAST' && !use && isExpired(verdict) && !maySearch(rail, row) ? [row] : [],
  )
  const hidden = await usedUnseen(core, rail, expired)
  const certain = failures.filter(({ row }) => !hidden.has(row.key))
  const done = await Promise.all(
    certain.map(({ row, verdict, use }) => settleFailure(core, rail, tracker, row, verdict, use, finalized)),
  )
  const settled = [...confirmed.map(({ attempt }) => attempt), ...certain.map(({ row }) => row)]
  const applied = new Set([...paid, ...certain.filter((_, index) => done[index]).map(({ row }) => row.key)])
  // Another writer was first: continue with the stored row if it is still BROADCAST.
  const outdated = settled.filter((row) => !applied.has(row.key))
  const fresh = outdated.length > 0 ? await core.store.get('authorizations', outdated.map(keyOf)) : []
  const rebound = rebind.length > 0 ? await broadcast(core, rail, tracker, rebind) : undefined
  const searched = rebind.filter(({ key }) => rebound?.get(key)?.kind === 'searched')
  const decided = [
    ...searched.map(({ key }): Judged => [rows.find((row) => row.key === key)!, undefined]),
    ...settled.filter((row) => applied.has(row.key)).map((row): Judged => [row, undefined]),
    ...outdated.map(
      (row, index): Judged => [row, fresh[index]?.phase === 'BROADCAST' ? fresh[index] : undefined],
    ),
  ]
  return { at, decided }
}

interface Failure {
  row: AuthorizationRow
  verdict: Verdict
  use: Use | undefined
}

const isExpired = (verdict: Verdict): boolean => verdict.kind === 'failed' && verdict.reason === EXPIRED

const keyOf = ({ key }: AuthorizationRow): string => key

async function walletTransactions(
  core: Core,
  rows: readonly AuthorizationRow[],
): Promise<Map<string, WalletTxRow>> {
  const keys = [...new Set(rows.flatMap(carriersOf))]
  if (keys.length === 0) return new Map()
  const found = await core.store.get('walletTxs', keys)
  return new Map(found.flatMap((tx) => (tx ? [[tx.key, tx] as const] : [])))
}

/** True if the new row was stored, or is searched for and need not be watched meanwhile. */
async function settleFailure(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  row: AuthorizationRow,
  verdict: Verdict,
  use: Use | undefined,
  finalized: Block | undefined,
): Promise<boolean> {
  // What the store knows shows no use up to the deadline; a transaction that it lost may have paid all the same.
  if (isExpired(verdict) && maySearch(rail, row)) {
    void followFound(core, rail, tracker, row)
    return true
  }
  if (row.phase === 'BROADCAST')
    return verdict.kind === 'failed' && (await abandon(core, row, verdict.reason))
  const signed = rail.scheme.factsOf(row.auth)
  const dead = verdict.kind === 'failed' && finalized !== undefined && isDead(signed, use, finalized)
  const { answer: _, ...withoutAnswer } = row
  const next: AuthorizationRow = dead
    ? { ...withoutAnswer, phase: 'DEAD', dueAt: null }
    : { ...row, dueAt: core.clock.now() + ABANDONED_RECHECK_MS }
  return commit(core, { puts: [{ table: 'authorizations', row: next }] })
}

/**
 * BROADCAST → ABANDONED. The attempt is no longer live, so the buyer may sign another payment; it stays watched,
 * because it may still land.
 */
async function abandon(core: Core, row: AuthorizationRow, reason: string): Promise<boolean> {
  const [challenge] = await core.store.get('challenges', [row.challengeId])
  // Missing only if a store lost commits in a failover. The attempt is then mostly lost as well, and this commit is a
  // conflict.
  if (!challenge)
    return commit(core, { puts: [{ table: 'authorizations', row: { ...row, phase: 'DEAD', dueAt: null } }] })
  const at = core.clock.now()
  const { undelivered, exposure, streamed: _, ...rest } = row
  const abandoned: AuthorizationRow = {
    ...rest,
    phase: 'ABANDONED',
    reason,
    dueAt: at + ABANDONED_RECHECK_MS,
  }
  const applied = await commit(core, {
    puts: [{ table: 'authorizations', row: abandoned }, putChallenge(withoutLive(challenge, row.key))],
    audit: [auditEntry(challenge, 'payment-abandoned', { at, actor: 'gateway', details: { reason } })],
  })
  if (applied) {
    await settleGas(core, [row], 'spent')
    await settleHolds(core, exposure ? [exposure] : [], 'returned')
    // A metered call was made for nothing.
    await settleHolds(core, undelivered ? [undelivered] : [], row.answer === undefined ? 'returned' : 'spent')
    await writeOffStream(core, core.rails.of(row), row)
  }
  return applied
}
