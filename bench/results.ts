import type { Cell } from './cells.ts'
import type { Flood } from './measure-flood.ts'
import type { Overhead } from './measure-overhead.ts'
import type { Stored } from './measure-stored.ts'

/** What is bought, of whom, and how. */
export interface PaidCase {
  seller: 'paystile' | 'peer, kindest form' | 'peer, as shipped'
  sells: 'plans' | 'calls'
  store?: 'embedded' | 'redis' | 'postgres'
  concurrency: number
  blocks: 'automine' | '2 s blocks'
  wallets?: number
}

export interface Results {
  at: string
  machine: string
  /** Rates of terms alone, by server. */
  unpaid: Record<string, Cell>
  /** By {@link nameOf}. */
  paid: Record<string, Cell>
  overhead: Record<'plan' | 'call' | 'embedded', Overhead>
  stored: Stored
  /** In the full run. */
  flood?: Flood
}

export const OURS = 'paystile'
export const PEER = '@x402/express'
export const FLOOR = 'bare node:http'

/** A case in words; equal cases have equal names. */
export function nameOf({ seller, sells, store, concurrency, blocks, wallets = 1 }: PaidCase): string {
  const parts = [seller, sells, ...(store ? [store] : []), `${concurrency} at once`, blocks]
  return [...parts, ...(wallets > 1 ? [`${wallets} gas wallets`] : [])].join(', ')
}

/** The cases that the bars compare. */
export const CASES = {
  plans: { seller: 'paystile', sells: 'plans', store: 'embedded', concurrency: 64, blocks: 'automine' },
  redis: { seller: 'paystile', sells: 'plans', store: 'redis', concurrency: 64, blocks: 'automine' },
  postgres: { seller: 'paystile', sells: 'plans', store: 'postgres', concurrency: 64, blocks: 'automine' },
  kindest: { seller: 'peer, kindest form', sells: 'calls', concurrency: 64, blocks: 'automine' },
  shipped: { seller: 'peer, as shipped', sells: 'calls', concurrency: 64, blocks: 'automine' },
  crowd: { seller: 'paystile', sells: 'plans', store: 'embedded', concurrency: 256, blocks: '2 s blocks' },
  peerCrowd: { seller: 'peer, kindest form', sells: 'calls', concurrency: 256, blocks: '2 s blocks' },
} as const satisfies Record<string, PaidCase>
