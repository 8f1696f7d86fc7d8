import { UnavailableError } from '../../errors.ts'
import type { BookDay, BookDue, BookHours, BookRow, Store } from '../../ports.ts'
import type { ChallengeState } from '../../protocol/access.ts'
import {
  asBooked,
  DAYS_REF,
  DUE_REF,
  dayOf,
  HEAD_KEY,
  HOURS_KEPT_DAYS,
  hoursKey,
} from '../../rules/sales-book.ts'

/** The sales book as the gateway's jobs have stored it: everything up to an entry of the log. */
export interface StoredBook {
  /** The last entry of the log that is in it. */
  seq: number
  states: Partial<Record<ChallengeState, number>>
  creditsFrom: number | null
  days: BookDay[]
  /** Of the last month. */
  hours: BookHours[]
  due: BookDue[]
}

const TRIES = 5

/** Undefined: there is none yet. */
export async function loadBook(
  store: Pick<Store, 'get' | 'list'>,
  now: number,
): Promise<StoredBook | undefined> {
  // A page may be entered between two reads: then they are not of one book, and all is read again.
  for (let tries = 0; tries < TRIES; tries++) {
    const head = await headOf(store)
    if (!head) return undefined
    const today = dayOf(now)
    const keys = Array.from({ length: HOURS_KEPT_DAYS + 1 }, (_, ago) => hoursKey(today + 1 - ago))
    const [days, hours, due] = await Promise.all([
      store.list('books', DAYS_REF),
      store.get('books', keys),
      store.list('books', DUE_REF),
    ])
    if ((await headOf(store))?.version !== head.version) continue
    const { seq, states, creditsFrom } = head
    return {
      ...{ seq, states, creditsFrom },
      ...{ days: all(days, 'day'), hours: all(hours, 'hours'), due: all(due, 'due') },
    }
  }
  throw new UnavailableError('the sales book (it changes faster than it can be read)')
}

/** How far the log is in the book, and of which days it has entries. */
export async function headOf(store: Pick<Store, 'get'>) {
  const [row] = await store.get('books', [HEAD_KEY])
  return asBooked(row, 'head')
}

export function all<K extends BookRow['kind']>(
  rows: ReadonlyArray<BookRow | undefined>,
  kind: K,
): Array<BookRow & { kind: K }> {
  return rows.flatMap((row) => asBooked(row, kind) ?? [])
}
