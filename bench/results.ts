import type { Cell } from './cells.ts'
import type { Flood } from './measure-flood.ts'
import type { LonePurchase, Overhead } from './measure-overhead.ts'
import type { SecondNetwork } from './measure-second-network.ts'
import type { Stored } from './measure-stored.ts'
import type { PrepaidCells } from './prepaid-bars.ts'

/** What is bought, of whom, and how. */
export interface PaidCase {
  seller: 'paystile' | 'peer, kindest form' | 'peer, as shipped'
  sells: 'plans' | 'calls'
  store?: 'embedded' | 'redis' | 'postgres'
  concurrency: number
  blocks: 'automine' | '2 s blocks'
  wallets?: number
  /** How many networks it is paid on; all is bought on the first. Default 1. */
  networks?: number
}

export interface Results {
  at: string
  machine: string
  /** Rates of terms alone, by server. */
  unpaid: Record<string, Cell>
  /** By {@link nameOf}. */
  paid: Record<string, Cell>
  overhead: Record<LonePurchase, Overhead>
  stored: Stored
  /** Absent in a run from before the two were measured side by side. */
  secondNetwork?: SecondNetwork
  /** Absent in a run from before there were prepaid calls. */
  prepaid?: PrepaidCells
  /** In the full run. */
  flood?: Flood
}

export const OURS = 'paystile'
/** The same gateway with further networks: the 402 has an entry for each. */
export const TWO_NETWORKS = 'paystile, 2 networks'
export const SIX_NETWORKS = 'paystile, 6 networks'
export const PEER = '@x402/express'
export const FLOOR = 'bare node:http'

/** A case in words; equal cases have equal names. */
export function nameOf({
  seller,
  sells,
  store,
  concurrency,
  blocks,
  wallets = 1,
  networks = 1,
}: PaidCase): string {
  const parts = [seller, sells, ...(store ? [store] : []), `${concurrency} at once`, blocks]
  if (wallets > 1) parts.push(`${wallets} gas wallets`)
  if (networks > 1) parts.push(`${networks} networks`)
  return parts.join(', ')
}

/** The cases that the bars compare. */
export const CASES = {
  plans: { seller: 'paystile', sells: 'plans', store: 'embedded', concurrency: 64, blocks: 'automine' },
  redis: { seller: 'paystile', sells: 'plans', store: 'redis', concurrency: 64, blocks: 'automine' },
  postgres: { seller: 'paystile', sells: 'plans', store: 'postgres', concurrency: 64, blocks: 'automine' },
  kindest: { seller: 'peer, kindest form', sells: 'calls', concurrency: 64, blocks: 'automine' },
  shipped: { seller: 'peer, as shipped', sells: 'calls', concurrency: 64, blocks: 'automine' },
  crowd: { seller: 'paystile', sells: 'plans', store: 'embedded', concurrency: 256, blocks: '2 s blocks' },
  alone: { seller: 'paystile', sells: 'plans', store: 'embedded', concurrency: 1, blocks: 'automine' },
  aloneSlow: { seller: 'paystile', sells: 'plans', store: 'embedded', concurrency: 1, blocks: '2 s blocks' },
  peerAlone: { seller: 'peer, kindest form', sells: 'calls', concurrency: 1, blocks: 'automine' },
  peerAloneSlow: { seller: 'peer, kindest form', sells: 'calls', concurrency: 1, blocks: '2 s blocks' },
  peerCrowd: { seller: 'peer, kindest form', sells: 'calls', concurrency: 256, blocks: '2 s blocks' },
} as const satisfies Record<string, PaidCase>
