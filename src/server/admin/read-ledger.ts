import type { Dossier } from '../../backstage.ts'
import type { ChallengeRow, Store } from '../../ports.ts'

/** Everything stored about the money of one challenge. */
export type LedgerEntry = Omit<Dossier, 'audit'>

const PAGE = 1000
const AT_ONCE = 50

/**
 * Every challenge that a payment was ever claimed for, oldest first and one at a time: the history may be too long for
 * memory. Challenges that were neither paid nor delivered are left out.
 */
export async function* readLedger(store: Pick<Store, 'log' | 'get' | 'list'>): AsyncGenerator<LedgerEntry> {
  const known = new Set<string>()
  for (let afterSeq = 0; ; ) {
    const page = await store.log(afterSeq, PAGE)
    const ids = page.map(({ challengeId }) => challengeId).filter((id) => !known.has(id) && known.add(id))
    for (let start = 0; start < ids.length; start += AT_ONCE) {
      const rows = await store.get('challenges', ids.slice(start, start + AT_ONCE))
      const moved = rows.flatMap((row) => (row && mayConcernMoney(row) ? [row] : []))
      yield* await Promise.all(moved.map((row) => entryOf(store, row)))
    }
    if (page.length < PAGE) return
    afterSeq = page.at(-1)!.seq
  }
}

function mayConcernMoney({ claimed, receipt, state }: ChallengeRow): boolean {
  return claimed || receipt !== null || !/^(PENDING|EXPIRED|CANCELLED)$/.test(state)
}

async function entryOf(store: Pick<Store, 'list'>, row: ChallengeRow): Promise<LedgerEntry> {
  const [attempts, receipts, refunds] = await Promise.all([
    store.list('authorizations', row.key),
    store.list('receipts', row.key),
    store.list('refunds', row.key),
  ])
  const { result: _result, ...challenge } = row
  return {
    challenge,
    attempts: attempts.map(({ key, rail, phase, reason, sends, payer, value }) => {
      return { key, rail, phase, reason, sends, payer, value }
    }),
    receipts,
    refunds: refunds.map(({ auth: _auth, ...refund }) => refund),
  }
}
