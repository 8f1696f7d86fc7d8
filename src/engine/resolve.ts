import type { AuthorizationRow, Block, SeenUses, Use, WalletTxRow } from '../ports.ts'
import { isDead, judgeAttempt, type Verdict } from '../rules/judge-attempt.ts'
import { auditEntry, putChallenge } from './apply-event.ts'
import { broadcast, type Sink } from './broadcast.ts'
import { type Confirmed, confirmPayments } from './confirm.ts'
import { type Core, commit } from './core.ts'
import { finalUses } from './final-uses.ts'
import { settleGas } from './gas-budget.ts'
import { settleHolds } from './holds.ts'
import { refuseDoubtful } from './look-at-chain.ts'
import { withoutLive } from './release-claim.ts'
import { withResolvers } from './signals.ts'

/** How much longer than the chain a buyer may wait, at most: the share of the time so far after which it is asked again. */
const PATIENCE = 1 / 8
/** A node that answers within a millisecond or so is near, and is asked so often without a pause. */
const NEAR_MS = 1
const HASTY_LOOKS = 20

/** Where we ask block by block, this often for what others may have done as well. */
const WHOLE_LOOK_MS = 5_000

/** An abandoned attempt is looked at this often until it can no longer land. */
const ABANDONED_RECHECK_MS = 60_000

/**
 * Decides attempts that may have been sent, from the chain. It watches what this instance sent, and what a lapsed
 * lease handed to it: the same code for both.
 */
export interface Resolver extends Sink {
  /** Attempts whose lease lapsed: watched again, and sent again where nothing else keeps them moving. */
  adopt(rows: readonly AuthorizationRow[]): Promise<void>
  /** Looks until nothing is watched or the engine stops. */
  idle(): Promise<void>
  stop(): void
}

export function createResolver(core: Core): Resolver {
  const hot = new Map<string, AuthorizationRow>()
  let running: Promise<void> | undefined
  let stopped = false
  let wake: (() => void) | undefined
  let poked = false
  let moved: ReturnType<typeof withResolvers<void>> | undefined

  async function run(): Promise<void> {
    const { pollIntervalMs } = core.config
    let pauseMs = pollIntervalMs
    let wholeLookAt = core.clock.now()
    let pokedAt = wholeLookAt
    let hasty = 0
    let quickestMs = pollIntervalMs
    let upTo = core.head.number
    let floorMs = 0
    while (hot.size > 0 && !stopped) {
      // What we sent ourselves is in a later block than the last one we saw, or nowhere.
      const own = [...hot.values()].every((row) => row.walletTx !== null)
      const blockMs = own ? core.chain.untilBlockAboveMs?.(upTo) : undefined
      // A poke that came while we looked counts as well.
      const atOnce = blockMs === undefined && (poked || (quickestMs <= NEAR_MS && hasty-- > 0))
      if (!atOnce) {
        const called = withResolvers()
        wake = called.resolve
        const waitMs = blockMs === undefined ? pauseMs : Math.max(floorMs, Math.min(pollIntervalMs, blockMs))
        if (blockMs !== undefined) poked = false
        await Promise.race([core.clock.sleep(Math.max(1, waitMs)), called.promise])
        // What was just sent changes nothing about when the next block comes.
        if (poked && blockMs !== undefined && !stopped) continue
      }
      const lookedAt = core.clock.now()
      if (poked) {
        pokedAt = lookedAt
        hasty = HASTY_LOOKS
        quickestMs = pollIntervalMs
      }
      poked = false
      const glance = lookedAt - wholeLookAt < (blockMs === undefined ? pollIntervalMs : WHOLE_LOOK_MS)
      if (!glance) wholeLookAt = lookedAt
      const rows = [...hot.values()]
      if (stopped || rows.length === 0) break
      try {
        const { at, decided } = await resolveAttempts(core, resolver, rows, glance)
        upTo = at.number
        floorMs = core.clock.now() - lookedAt
        for (const [row, next] of decided) {
          // A row that was adopted again meanwhile is newer than our verdict.
          if (hot.get(row.key) !== row) continue
          if (next) hot.set(row.key, next)
          else hot.delete(row.key)
          moved?.resolve()
          moved = undefined
        }
      } catch (cause) {
        // Chain or store cannot be asked: nothing is decided, and we ask again.
        floorMs = pollIntervalMs
        core.alerts.raise('job-failed', `resolve: ${cause instanceof Error ? cause.message : 'unknown'}`)
      }
      // What was just sent is soon mined: asked again after as long as an answer takes (one that is late for once may be
      // the node's making our block), and so often that a buyer waits little longer than the chain took.
      const answeredAt = core.clock.now()
      quickestMs = Math.min(quickestMs, answeredAt - lookedAt)
      pauseMs = Math.min(pollIntervalMs, Math.max(quickestMs, (answeredAt - pokedAt) * PATIENCE))
    }
    running = undefined
  }

  const resolver: Resolver = {
    watch(rows) {
      for (const row of rows) hot.set(row.key, row)
      if (!running && !stopped) running = run()
    },
    poke() {
      poked = true
      wake?.()
    },
    progress() {
      if (hot.size === 0) return undefined
      moved ??= withResolvers()
      return moved.promise
    },
    async refused(row, reason) {
      const current = hot.get(row.key) ?? row
      if (await abandon(core, current, reason)) hot.delete(row.key)
    },
    async adopt(rows) {
      resolver.watch(rows)
      const unattended = rows.filter((row) => row.walletTx === null)
      if (unattended.length > 0) await broadcast(core, resolver, unattended)
    },
    async idle() {
      while (running) await running
    },
    stop() {
      stopped = true
      wake?.()
      moved?.resolve()
    },
  }
  return resolver
}

/** A row that was judged, and what to watch in its place (undefined: nothing). */
type Watched = [AuthorizationRow, AuthorizationRow | undefined]

/**
 * One look at the chain for many attempts, one step for each that is decided. Undecided ones are not in the answer. A
 * glance sees only what our own transactions did.
 */
export async function resolveAttempts(
  core: Core,
  sink: Sink,
  rows: readonly AuthorizationRow[],
  glance = false,
): Promise<{ at: Block; decided: Watched[] }> {
  const transactions = await walletTransactions(core, rows)
  const hashes = [...transactions.values()].flatMap((tx) => tx.hashes)
  const keys = rows.map((row) => ({ payer: row.auth.from, nonce: row.auth.nonce }))
  const fromHeight = Math.min(...rows.map((row) => row.fromHeight))
  // Only the end of an abandoned attempt needs finality; those in flight are decided at the latest block.
  const abandoned = rows.some((row) => row.phase !== 'BROADCAST')
  const brief = glance && !abandoned && rows.every((row) => row.walletTx !== null)
  const glanced = brief ? await core.chain.usesIfMined(keys, fromHeight, hashes) : undefined
  if (glanced && !glanced.seen) return { at: glanced.at, decided: [] }
  const seen: SeenUses & { finalized?: Block } =
    glanced?.seen ??
    (abandoned
      ? await finalUses(core, keys, fromHeight, hashes)
      : await core.chain.uses(keys, fromHeight, hashes))
  const { at, found, mined, finalized } = seen
  const minedBy = new Map(mined.map((tx) => [tx.hash, tx]))
  if (!finalized) await refuseDoubtful(core, at)
  const uses = new Map(found.map((use) => [`${use.key.payer}:${use.key.nonce}`, use]))

  const failures: Array<{ row: AuthorizationRow; verdict: Verdict; use: Use | undefined }> = []
  const confirmed: Confirmed[] = []
  const rebind: AuthorizationRow[] = []
  for (const row of rows) {
    const use = uses.get(`${row.auth.from}:${row.auth.nonce}`)
    const walletTx = row.walletTx === null ? undefined : transactions.get(row.walletTx)
    const tx = walletTx?.hashes.map((hash) => minedBy.get(hash)).find((hit) => hit !== undefined)
    const verdict = judgeAttempt(row, { use, at, walletTx, mined: tx }, core.config.confirmations)
    if (verdict.kind === 'confirmed') confirmed.push({ attempt: row, use: verdict.use })
    else if (verdict.kind === 'rebind' && row.phase === 'BROADCAST')
      rebind.push({ ...row, packLimit: verdict.packLimit ?? row.packLimit })
    else if (verdict.kind !== 'wait' || row.phase !== 'BROADCAST') failures.push({ row, verdict, use })
  }
  const paid = await confirmPayments(core, confirmed)
  void settleGas(
    core,
    rows.filter(({ key }) => paid.has(key)),
    'returned',
  )
  const done = await Promise.all(
    failures.map(({ row, verdict, use }) => settleFailure(core, row, verdict, use, finalized)),
  )
  const settled = [...confirmed.map(({ attempt }) => attempt), ...failures.map(({ row }) => row)]
  const applied = new Set([...paid, ...failures.filter((_, index) => done[index]).map(({ row }) => row.key)])
  // Somebody else was first: go on from what is stored, or not at all.
  const outdated = settled.filter((row) => !applied.has(row.key))
  const fresh = outdated.length > 0 ? await core.store.get('authorizations', outdated.map(keyOf)) : []
  if (rebind.length > 0) await broadcast(core, sink, rebind)
  const decided = [
    ...settled.filter((row) => applied.has(row.key)).map((row): Watched => [row, undefined]),
    ...outdated.map(
      (row, index): Watched => [row, fresh[index]?.phase === 'BROADCAST' ? fresh[index] : undefined],
    ),
  ]
  return { at, decided }
}

const keyOf = ({ key }: AuthorizationRow): string => key

async function walletTransactions(
  core: Core,
  rows: readonly AuthorizationRow[],
): Promise<Map<string, WalletTxRow>> {
  const keys = [...new Set(rows.flatMap((row) => (row.walletTx === null ? [] : [row.walletTx])))]
  if (keys.length === 0) return new Map()
  const found = await core.store.get('walletTxs', keys)
  return new Map(found.flatMap((tx) => (tx ? [[tx.key, tx] as const] : [])))
}

/** True when it was written. */
async function settleFailure(
  core: Core,
  row: AuthorizationRow,
  verdict: Verdict,
  use: Use | undefined,
  finalized: Block | undefined,
): Promise<boolean> {
  if (row.phase === 'BROADCAST')
    return verdict.kind === 'failed' && (await abandon(core, row, verdict.reason))
  const dead = verdict.kind === 'failed' && finalized !== undefined && isDead(row, use, finalized)
  const next: AuthorizationRow = dead
    ? { ...row, phase: 'DEAD', dueAt: null }
    : { ...row, dueAt: core.clock.now() + ABANDONED_RECHECK_MS }
  return commit(core, { puts: [{ table: 'authorizations', row: next }] })
}

/** BROADCAST → ABANDONED: no longer live, so the buyer may sign anew; watched, because it may land after all. */
async function abandon(core: Core, row: AuthorizationRow, reason: string): Promise<boolean> {
  const [challenge] = await core.store.get('challenges', [row.challengeId])
  // Only a store that failed over forgets it, and mostly the attempt with it: then this is a conflict.
  if (!challenge)
    return commit(core, { puts: [{ table: 'authorizations', row: { ...row, phase: 'DEAD', dueAt: null } }] })
  const at = core.clock.now()
  const { undelivered, ...rest } = row
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
    await settleHolds(core, undelivered ? [undelivered] : [], 'returned')
  }
  return applied
}
