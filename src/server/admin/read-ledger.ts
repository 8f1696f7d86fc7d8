import { setImmediate as turn } from 'node:timers/promises'
import type { Dossier } from '../../backstage.ts'
import type { ChallengeRow, Store } from '../../ports.ts'
import { type CreditLot, lotOfSale, soldIn } from '../../rules/credit-lot.ts'

/** Everything stored about the money of one challenge. */
export type LedgerEntry = Omit<Dossier, 'audit'> & {
  /** Of sales of credits: see the log entry of the delivery. */
  credits?: { sold: number; lot: CreditLot | undefined }
  /** Since when each refund is due (ms), by its key. */
  refundsDue?: Record<string, number>
}

type Audit = Awaited<ReturnType<Store['audit']>>
type LedgerStore = Pick<Store, 'log' | 'get' | 'list' | 'audit'>

const PAGE = 1000
/** From then on a refund is due, or is tried anew. */
const DUE_EVENTS = new Set([
  'delivery-failed',
  'late-money',
  'surplus-received',
  'credits-closed',
  'refund-retried',
  'surplus-refund-retried',
  'credits-refund-retried',
])
const AT_ONCE = 50

/**
 * Every challenge that a payment was ever claimed for, oldest first and one at a time: the history may be too long for
 * memory. Challenges that were neither paid nor delivered are left out.
 */
export async function* readLedger(store: LedgerStore): AsyncGenerator<LedgerEntry> {
  for (let afterSeq = 0; ; ) {
    const page = await store.log(afterSeq, PAGE)
    /** The first entry of each challenge on this page. */
    const first = new Map(page.toReversed().map(({ challengeId, seq }) => [challengeId, seq]))
    const ids = [...first.keys()].reverse()
    for (let start = 0; start < ids.length; start += AT_ONCE) {
      const rows = await store.get('challenges', ids.slice(start, start + AT_ONCE))
      const moved = rows.flatMap((row) => (row && mayConcernMoney(row) ? [row] : []))
      const entries = await Promise.all(
        moved.map(async (row) => {
          const audit = await store.audit(row.key)
          // It was on an earlier page; to remember all of them would take too much memory.
          return audit[0]?.seq === first.get(row.key) ? entryOf(store, row, audit) : undefined
        }),
      )
      for (const entry of entries) if (entry) yield entry
      // Payments go first; see exportLog.
      await turn()
    }
    if (page.length < PAGE) return
    afterSeq = page.at(-1)!.seq
  }
}

function mayConcernMoney({ claimed, receipt, state }: ChallengeRow): boolean {
  return claimed || receipt !== null || !/^(PENDING|EXPIRED|CANCELLED)$/.test(state)
}

async function entryOf(store: LedgerStore, row: ChallengeRow, audit: Audit): Promise<LedgerEntry> {
  // Where no credits were sold by then, none are now: they are sold with the delivery, and a delivered sale stays one.
  const sold = row.kind === 'plan' && (row.state !== 'DELIVERED' || audit.some((entry) => soldIn(entry) > 0))
  const credits = sold ? await creditsOf(store, row.key) : undefined
  const [attempts, receipts, refunds] = await Promise.all([
    store.list('authorizations', row.key),
    store.list('receipts', row.key),
    store.list('refunds', row.key),
  ])
  const { result: _result, ...challenge } = row
  // It was closed between the two reads.
  const isClosed = !credits?.lot || credits.lot.status === 'closed'
  const closedSince = !isClosed && refunds.some(({ key, movesState }) => key === row.receipt && !movesState)
  const current = closedSince ? await creditsOf(store, row.key) : credits
  return {
    challenge,
    attempts: attempts.map(({ key, rail, phase, reason, sends, payer, value, walletTx }) => {
      return { key, rail, phase, reason, sends, payer, value, walletTx }
    }),
    receipts,
    refunds: refunds.map(({ auth: _auth, ...refund }) => refund),
    ...(current && { credits: current }),
    // Read after the refunds, so that it has the entries of all of them.
    ...(refunds.length > 0 && { refundsDue: dueIn(await store.audit(row.key), row) }),
  }
}

async function creditsOf(store: LedgerStore, challengeId: string): Promise<LedgerEntry['credits']> {
  // The row comes first: if it is removed in between, the log has its last entry.
  const [row] = await store.get('credits', [challengeId])
  const audit = await store.audit(challengeId)
  const sold = audit.reduce((sum, entry) => sum + soldIn(entry), 0)
  if (sold === 0) return undefined
  return { sold, lot: lotOfSale(row, audit, Date.now()) }
}

/** An entry that names no payment is about the one that paid the challenge. */
function dueIn(audit: Audit, { receipt }: ChallengeRow): Record<string, number> {
  const dated = audit.filter(({ event }) => DUE_EVENTS.has(event))
  return Object.fromEntries(dated.map(({ at, details }) => [String(details?.payment ?? receipt), at]))
}
