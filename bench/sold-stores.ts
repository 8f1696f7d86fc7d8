import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoreChoice } from '../src/ports.ts'
import { type Filled, fillSales } from './fill-sales.ts'
import { startStore } from './targets.ts'

export type StoreKind = 'embedded' | 'postgres' | 'redis'

/** A store with finished sales in it. */
export interface SoldStore extends Filled {
  /** The gateway's variables for it. */
  env: Record<string, string>
  stop(): Promise<void>
}

export async function startSoldStore(
  kind: StoreKind,
  count: number,
  say?: (done: number) => void,
): Promise<SoldStore> {
  const folder = await mkdtemp(join(tmpdir(), 'paystile-bench-sold-'))
  const { env, stop } = await startStore({ store: kind, dataDir: join(folder, 'data') })
  const end = async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    return { env, stop: end, ...(await fillSales(choiceOf(env), count, say)) }
  } catch (error) {
    await end()
    throw error
  }
}

export function choiceOf({ DATA_DIR, REDIS_URL, DATABASE_URL }: Record<string, string>): StoreChoice {
  if (REDIS_URL) return { kind: 'redis', url: REDIS_URL, mustBeDurable: false }
  if (DATABASE_URL) return { kind: 'postgres', url: DATABASE_URL, wakeupsUrl: null }
  return { kind: 'embedded', dataDir: DATA_DIR! }
}
