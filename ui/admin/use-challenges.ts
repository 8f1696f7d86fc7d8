import { useEffect, useState } from 'preact/hooks'
import { ApiError, get } from '../shared/api.ts'
import type { ChallengeItem, ChallengePage } from '../shared/wire.ts'
import { useData } from './use-data.ts'

export interface Filter {
  q: string
  state: string
  kind: string
  network: string
}

export interface ChallengeList {
  items: ChallengeItem[]
  /** Undefined: nothing was read yet; null: not counted. */
  total: number | null | undefined
  fault: string
  more: (() => void) | undefined
}

/**
 * The newest page is read again at every tick and merged with the known rows, so that pages loaded further down stay and no
 * row is lost between two pages.
 */
export function useChallenges(filter: Filter, tick: number): ChallengeList {
  const query = queryOf(filter)
  const path = `/admin/api/challenges?${query}`
  const first = useData<ChallengePage>(path, tick)
  const [newest, setNewest] = useState<Newest>({ query, items: [], next: null, total: undefined })
  const [older, setOlder] = useState<Older>({ query, items: [], next: undefined, fault: '' })
  // Rows of the last search stay until the answer to the next one is there.
  const page = first.path === path ? first.data : undefined

  useEffect(() => {
    if (!page) return
    setNewest((old) => ({
      query,
      items: old.query === query ? merge(page.items, old.items) : page.items,
      next: page.next,
      total: page.total,
    }))
  }, [page, query])

  const loaded = older.query === newest.query ? older : { query, items: [], next: undefined, fault: '' }
  const next = loaded.next === undefined ? newest.next : loaded.next
  const load = async (cursor: string): Promise<void> => {
    try {
      const more = await get<ChallengePage>(
        `/admin/api/challenges?${newest.query}&before=${encodeURIComponent(cursor)}`,
      )
      const items = [...loaded.items, ...more.items]
      setOlder({ query: newest.query, items, next: more.next, fault: '' })
    } catch (error) {
      const fault = error instanceof ApiError ? error.message : String(error)
      setOlder({ ...loaded, query: newest.query, fault })
    }
  }
  // A row that changed its state since it was loaded may no longer match the filter.
  const belongs = (item: ChallengeItem): boolean => filter.state === '' || item.state === filter.state
  return {
    items: merge(newest.items, loaded.items).filter(belongs),
    total: newest.total,
    fault: first.fault || loaded.fault,
    more: next ? () => void load(next) : undefined,
  }
}

interface Newest {
  query: string
  items: ChallengeItem[]
  next: string | null
  total: number | null | undefined
}

interface Older {
  query: string
  items: ChallengeItem[]
  /** undefined: nothing was loaded yet; null: there is nothing more. */
  next: string | null | undefined
  fault: string
}

/** Merges both lists, newest first; if both have a challenge, the row of the first list is used. */
function merge(first: ChallengeItem[], second: ChallengeItem[]): ChallengeItem[] {
  const seen = new Set(first.map(({ challengeId }) => challengeId))
  const all = [...first, ...second.filter(({ challengeId }) => !seen.has(challengeId))]
  return all.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))
}

function queryOf({ q, state, kind, network }: Filter): string {
  const query = new URLSearchParams({ limit: '50' })
  if (q.trim() !== '') query.set('q', q.trim())
  if (state !== '') query.set('state', state)
  if (kind !== '') query.set('kind', kind)
  if (network !== '') query.set('network', network)
  return query.toString()
}
