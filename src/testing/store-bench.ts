import type { Committed, Store } from '../ports.ts'
import { samplePut } from './store-rows.ts'

/** What each check of a store gets. */
export interface Bench {
  store: Store
  reopen: (() => Promise<Store>) | undefined
}

export type Checks = Record<string, (bench: Bench) => Promise<void>>

export const NOW = 1_750_000_000_000

export const applied: Committed = { kind: 'applied' }

export function conflict(key: string): Committed {
  return { kind: 'conflict', table: 'requests', key }
}

/** Most checks need any table; they use the one with the smallest rows. */
export function put(key: string, version = 0, base: { ref?: string | null; dueAt?: number | null } = {}) {
  return samplePut('requests', { key, version, ...base })
}

export async function readOne(store: Store, key: string) {
  return (await store.get('requests', [key]))[0]
}
