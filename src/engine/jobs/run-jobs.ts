import type {
  AuthorizationRow,
  ChallengeRow,
  RowBase,
  Step,
  TableName,
  Tables,
  WalletTxRow,
} from '../../ports.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { reviewHold } from '../budgets/holds.ts'
import { countUndelivered } from '../budgets/refund-cap.ts'
import { expireChallenge } from '../challenge/open-challenge.ts'
import { type Core, commit, getOne } from '../core.ts'
import type { Accounts } from '../credits/accounts.ts'
import { reviewCredits, voidReservations } from '../credits/review-credits.ts'
import { deliverPlan } from '../deliver/deliver-plan.ts'
import { refundableAt } from '../deliver/deliver-route.ts'
import { notifySeller } from '../deliver/outbox.ts'
import type { OpenRail } from '../rails.ts'
import { refundOf } from '../refund/refund-rows.ts'
import { runRefunds } from '../refund/run-refunds.ts'
import { cannotSettle } from '../refusals.ts'
import { broadcast } from '../settle/broadcast.ts'
import { followReceipts } from '../settle/follow-receipts.ts'
import { release } from '../settle/release-claim.ts'
import { type Resolver, resolveAttempts } from '../settle/resolve.ts'
import { prune } from './retention.ts'

const BATCH = 200
/** Limits one pass; the next one continues. */
const MAX_ROUNDS = 20
const ALL = 100_000
/** How often a transaction that is not mined yet is checked; the same time after which its fee may be raised. */
const WALLET_TX_INTERVAL_MS = 12_000

/**
 * At the start on a store that only this process uses: leases in it belong to a process that has ended, so nobody has
 * to wait for them.
 */
export async function voidLeases(core: Core): Promise<void> {
  const now = core.clock.now()
  const longest = now + Math.max(core.config.leaseMs, core.config.deliveryLeaseMs)
  for (const table of ['authorizations', 'walletTxs', 'outbox', 'webhooks'] as const) {
    await core.store.takeDue(table, longest, now, ALL)
  }
  await voidReservations(core)
  const challenges = await core.store.takeDue('challenges', longest, now, ALL)
  const held = challenges.filter((challenge) => challenge.leaseUntil !== null)
  await Promise.all(held.map((row) => commit(core, { puts: [putChallenge({ ...row, leaseUntil: null })] })))
}

/**
 * One pass over all work that is due. Taking a row gives it a new version, so any number of instances may do this.
 */
export async function runJobs(
  core: Core,
  accounts: Accounts,
  resolverOf: (rail: OpenRail) => Resolver,
): Promise<void> {
  const { leaseMs, refundIntervalMs } = core.config
  await maintainWallets(core)
  await forDue(core, 'authorizations', leaseMs, (rows) =>
    perRail(core, 'authorizations', rows, (rail, some) => resumeAttempts(core, rail, resolverOf(rail), some)),
  )
  await forDue(core, 'receipts', leaseMs, (rows) =>
    perRail(core, 'receipts', rows, (rail, some) => followReceipts(core, rail, resolverOf(rail), some)),
  )
  await forDue(core, 'challenges', leaseMs, (rows) =>
    each(core, 'challenges', rows, (row) => advance(core, row)),
  )
  await forDue(core, 'refunds', refundIntervalMs, (rows) =>
    perRail(core, 'refunds', rows, (rail, some) => runRefunds(core, rail, some)),
  )
  await forDue(core, 'outbox', leaseMs, (rows) =>
    each(core, 'outbox', rows, (row) => notifySeller(core, row)),
  )
  await forDue(core, 'holds', leaseMs, (rows) => each(core, 'holds', rows, (row) => reviewHold(core, row)))
  await forDue(core, 'credits', leaseMs, (rows) =>
    each(core, 'credits', rows, (row) => reviewCredits(core, accounts, row)),
  )
  for (const table of ['lots', 'marks', 'calls', 'books'] as const) {
    await forDue(core, table, leaseMs, (rows) => each(core, table, rows, (row) => dropRow(core, table, row)))
  }
}

/** A row that served its time, and of which nothing else depends. */
async function dropRow(
  core: Core,
  table: 'lots' | 'marks' | 'calls' | 'books',
  { key, version }: RowBase,
): Promise<void> {
  await commit(core, { puts: [], removes: [{ table, key, version }], durability: 'deferred' })
}

/** Maintains the wallets of every chain, including those without a due transaction: a nonce may be missing there. */
async function maintainWallets(core: Core): Promise<void> {
  const due: WalletTxRow[] = []
  await forDue(core, 'walletTxs', WALLET_TX_INTERVAL_MS, async (rows) => {
    // Rows in a phase of a newer version are left to instances of that version.
    due.push(...rows.filter(({ phase }) => phase === 'SENT'))
  })
  const chains = new Map(core.rails.all.map((rail) => [rail.network.chainId, rail]))
  for (const { chainId } of due) if (!chains.has(chainId)) core.rails.reportMissing(`eip155:${chainId}`)
  await Promise.all(
    [...chains].map(([chainId, { settlement, alerts }]) =>
      guarded({ alerts }, 'wallets', () => settlement.maintain(due.filter((row) => row.chainId === chainId))),
    ),
  )
}

/** Works on all rails at the same time; a failure of one does not stop the others. */
async function perRail<R extends { rail: string }>(
  core: Core,
  name: string,
  rows: readonly R[],
  work: (rail: OpenRail, rows: R[]) => Promise<void>,
): Promise<void> {
  await Promise.all(core.rails.group(rows).map(([rail, some]) => guarded(rail, name, () => work(rail, some))))
}

/** A job that fails raises an alert and is tried again when its rows are due; it does not stop other jobs. */
async function guarded(
  { alerts }: Pick<Core, 'alerts'>,
  name: string,
  job: () => Promise<void>,
): Promise<void> {
  try {
    await job()
  } catch (cause) {
    alerts.raise('job-failed', `${name}: ${cause instanceof Error ? cause.message : 'unknown'}`)
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

/** Attempts whose lease lapsed: those that were never sent are released, all others are decided from the chain. */
async function resumeAttempts(
  core: Core,
  rail: OpenRail,
  resolver: Resolver,
  rows: readonly AuthorizationRow[],
): Promise<void> {
  const phase = (wanted: AuthorizationRow['phase']) => rows.filter((row) => row.phase === wanted)
  const lapsed = ({ challengeId }: AuthorizationRow) =>
    cannotSettle('the first try was interrupted before anything was sent', challengeId)
  await each(core, 'authorizations', phase('CLAIMED'), (row) => release(core, row, lapsed(row), new Map()))
  await each(core, 'authorizations', phase('RELEASED'), ({ key, version }) =>
    commit(core, { puts: [], removes: [{ table: 'authorizations', key, version }] }),
  )
  const charged = phase('CHARGED')
  if (charged.length > 0) await broadcast(core, rail, resolver, charged)
  const sent = phase('BROADCAST')
  if (sent.length > 0) await resolver.adopt(sent)
  const abandoned = phase('ABANDONED')
  if (abandoned.length > 0) await resolveAttempts(core, rail, resolver, abandoned)
}

/** A challenge that is due: it expires, or is delivered, refunded, pruned or deleted. */
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
      // Until then nothing is sent back, so the buyer may still have what was paid for.
      if (!receipt.finalized) {
        const dueAt = facts.at + core.config.refundIntervalMs
        return void (await commit(core, { puts: [putChallenge({ ...challenge, dueAt })] }))
      }
      const counted = await countUndelivered(core, challenge)
      const reason = challenge.failure ?? 'no call was answered before the refund was due'
      const { row, audit } = applyEvent(
        challenge,
        'delivery-failed',
        { ...facts, details: { reason } },
        { leaseUntil: null, dueAt: null, ...counted.change },
      )
      await commit(core, {
        puts: [putChallenge(row), refundOf(receipt, core.rails.of(receipt), true, facts.at), ...counted.puts],
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

/** Deletes a challenge for which nothing was ever sent. Its id alone still shows that it expired. */
async function forget(core: Core, challenge: ChallengeRow): Promise<void> {
  const removes: Step['removes'] = [{ table: 'challenges', key: challenge.key, version: challenge.version }]
  const pointers = await core.store.get('requests', [challenge.requestId, ...(challenge.earlierNames ?? [])])
  for (const pointer of pointers) {
    if (pointer?.challengeId === challenge.key)
      removes.push({ table: 'requests', key: pointer.key, version: pointer.version })
  }
  await commit(core, { puts: [], removes })
}
