import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDevChain } from '../src/testing/dev-chain.ts'
import { type Cell, measurePaid, medianCell, type PaidSettings } from './cells.ts'
import { requestText } from './connection.ts'
import { runLoad } from './load.ts'
import { startOurs } from './targets.ts'

export interface Stored {
  /** Terms per second where each is stored, because the buyer named a requestId. */
  storedTermsPerSecond: number
  few: Cell
  many: Cell
}

const ROUNDS = 5

/** Paid plans per second with few and with many open challenges in the embedded store, in turns. */
export async function measureStored(
  root: string,
  { few, many }: { few: number; many: number },
  settings: PaidSettings,
): Promise<Stored> {
  const folder = await mkdtemp(join(tmpdir(), 'paystile-bench-stored-'))
  try {
    await fill(root, join(folder, 'few'), few)
    const storedTermsPerSecond = await fill(root, join(folder, 'many'), many)
    const cells: Record<'few' | 'many', Cell[]> = { few: [], many: [] }
    for (let round = 0; round < ROUNDS; round++) {
      // In turns also who goes first: the machine changes while we measure.
      for (const name of round % 2 === 0 ? (['few', 'many'] as const) : (['many', 'few'] as const)) {
        const dataDir = join(folder, 'used')
        await cp(join(folder, name), dataDir, { recursive: true })
        cells[name].push(await measurePaid((chain) => startOurs({ chain, root, dataDir }), settings))
        await rm(dataDir, { recursive: true })
      }
    }
    return { storedTermsPerSecond, few: medianCell(cells.few), many: medianCell(cells.many) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Opens so many challenges with a requestId each, the way buyers do; answers how many per second. */
async function fill(root: string, dataDir: string, count: number): Promise<number> {
  const chain = await startDevChain()
  const target = await startOurs({ chain, root, dataDir })
  try {
    const { method, path } = target.asking
    const load = await runLoad(target.url, 128, { count }, async (connection, index) => {
      const body = JSON.stringify({ planId: 'basic', requestId: `stored-${index}` })
      const { status } = await connection.send(requestText(method, path, {}, body))
      return status === 402 ? undefined : `HTTP ${status}`
    })
    if (load.failed > 0) throw new Error(`${load.failed} challenges could not be stored`)
    return load.ok / load.seconds
  } finally {
    await target.stop()
    await chain.stop()
  }
}
