import type { AuthorizationRow, ChallengeRow, Step, TableName, Tables } from '../ports.ts'
import { applyEvent, putChallenge } from './apply-event.ts'
import { type Core, commit, getOne } from './core.ts'
import { deliverPlan } from './deliver.ts'
import { refundableAt } from './deliver-route.ts'
import { followReceipts } from './follow-receipts.ts'
import { reviewHold } from './holds.ts'
import { expireChallenge } from './open-challenge.ts'
import { tellSeller } from './outbox.ts'
import { runRefunds } from './refund.ts'
import { countUndelivered } from './refund-cap.ts'
import { refundOf } from './refund-rows.ts'
import { cannotSettle } from './refusals.ts'
import { release } from './release-claim.ts'
import { type Resolver, resolveAttempts } from './resolve.ts'
import { prune } from './retention.ts'

const BATCH = 200
/** Keeps one pass bounded; the next one goes on where it ended. */
const MAX_ROUNDS = 20
const ALL = 100_000

/** After a crash, on a store that is ours alone: nobody holds a lease any more, so nobody has to wait for one. */
export async function voidLeases(core: Core): Promise<void> {
  const now = core.clock.now()
  const longest = now + Math.max(core.config.leaseMs, core.config.deliveryLeaseMs)
  for (const table of ['authorizations', 'walletTxs', 'outbox'] as const) {
    await core.store.takeDue(table, longest, now, ALL)
  }
  const challenges = await core.store.takeDue('challenges', longest, now, ALL)
  const held = challenges.filter((challenge) => challenge.leaseUntil !== null)
  await Promise.all(held.map((row) => commit(core, { puts: [putChallenge({ ...row, leaseUntil: null })] })))
}

/** One pass over all work that is due. Every row is taken under a fence, so any number of instances may do this. */
export async function runJobs(core: Core, resolver: Resolver): Promise<void> {
  const { leaseMs, refundIntervalMs } = core.config
  await guarded(core, 'wallets', () => core.settlement.tend())
  await forDue(core, 'authorizations', leaseMs, (rows) => resumeAttempts(core, resolver, rows))
  await forDue(core, 'receipts', leaseMs, (rows) => followReceipts(core, resolver, rows))
  await forDue(core, 'challenges', leaseMs, (rows) =>
    each(core, 'challenges', rows, (row) => advance(core, row)),
  )
  await forDue(core, 'refunds', refundIntervalMs, (rows) => runRefunds(core, rows))
  await forDue(core, 'outbox', leaseMs, (rows) => each(core, 'outbox', rows, (row) => tellSeller(core, row)))
  await forDue(core, 'holds', leaseMs, (rows) => each(core, 'holds', rows, (row) => reviewHold(core, row)))
}

/** A job that fails is told and tried again when its rows are due again; it never stops the others. */
async function guarded(core: Core, name: string, job: () => Promise<void>): Promise<void> {
  try {
    await job()
  } catch (cause) {
    core.alerts.raise('job-failed', `${name}: ${cause instanceof Error ? cause.message : 'unknown'}`)
  }
}

async function forDue<N extends TableName>(
  core: Core,
  table: N,
  leaseMs: number,
  work: (rows: Array<Tables[N]>) => Promise<void>,
): Promise<void> {
  await guarded(core, table, async () => {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const now = core.clock.now()
      const rows = await core.store.takeDue(table, now, now + leaseMs, BATCH)
      if (rows.length > 0) await work(rows)
      if (rows.length < BATCH) return
    }
  })
}

async function each<R>(
  core: Core,
  name: string,
  rows: readonly R[],
  work: (row: R) => Promise<unknown>,
): Promise<void> {
  await Promise.all(rows.map((row) => guarded(core, name, async () => void (await work(row)))))
}

/** Attempts whose lease lapsed: what was never sent is released, everything else is decided from the chain. */
async function resumeAttempts(
  core: Core,
  resolver: Resolver,
  rows: readonly AuthorizationRow[],
): Promise<void> {
  const phase = (wanted: AuthorizationRow['phase']) => rows.filter((row) => row.phase === wanted)
  const lapsed = cannotSettle('the first try was interrupted before anything was sent')
  await each(core, 'authorizations', phase('CLAIMED'), (row) => release(core, row, lapsed, new Map()))
  await each(core, 'authorizations', phase('RELEASED'), ({ key, version }) =>
    commit(core, { puts: [], removes: [{ table: 'authorizations', key, version }] }),
  )
  const broadcast = phase('BROADCAST')
  if (broadcast.length > 0) await resolver.adopt(broadcast)
  const abandoned = phase('ABANDONED')
  if (abandoned.length > 0) await resolveAttempts(core, resolver, abandoned)
}

/** A challenge whose time has come: expired, to be delivered, to be refunded, or to be forgotten. */
async function advance(core: Core, challenge: ChallengeRow): Promise<void> {
  const facts = { at: core.clock.now(), actor: 'gateway' as const }
  switch (challenge.state) {
    case 'PENDING': {
      if (challenge.liveAuth !== null || facts.at < challenge.expiresAt) return
      await expireChallenge(core, challenge)
      return
    }
    case 'PAID': {
      if (challenge.kind === 'plan') return void (await deliverPlan(core, challenge))
      if (facts.at < Math.max(refundableAt(core, challenge), challenge.leaseUntil ?? 0)) return
      const receipt =
        challenge.receipt === null ? undefined : await getOne(core, 'receipts', challenge.receipt)
      if (!receipt) throw new Error(`challenge ${challenge.key} is PAID without a receipt`)
      const counted = await countUndelivered(core, challenge)
      const { row, audit } = applyEvent(challenge, 'delivery-failed', facts, {
        leaseUntil: null,
        dueAt: null,
        ...counted.change,
      })
      await commit(core, {
        puts: [putChallenge(row), refundOf(receipt, true, facts.at), ...counted.puts],
        audit,
      })
      return
    }
    case 'DELIVERED':
    case 'REFUNDED':
      return prune(core, challenge)
    case 'EXPIRED':
    case 'CANCELLED':
      if (!challenge.claimed) await forget(core, challenge)
  }
}

/** Nothing ever happened to it, and its id alone says that it expired. */
async function forget(core: Core, challenge: ChallengeRow): Promise<void> {
  const removes: Step['removes'] = [{ table: 'challenges', key: challenge.key, version: challenge.version }]
  const pointers = await core.store.get('requests', [challenge.requestId, ...(challenge.earlierNames ?? [])])
  for (const pointer of pointers) {
    if (pointer?.challengeId === challenge.key)
      removes.push({ table: 'requests', key: pointer.key, version: pointer.version })
  }
  await commit(core, { puts: [], removes })
}
