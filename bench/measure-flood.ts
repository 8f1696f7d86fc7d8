import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDevChain } from '../src/testing/dev-chain.ts'
import { requestText } from './connection.ts'
import { runLoad } from './load.ts'
import { startOurs } from './targets.ts'

export interface Flood {
  requests: number
  failed: number
  perSecond: number
  rssGrowthMiB: number
  diskGrowthBytes: number
}

/** So many unpaid requests at one gateway: what they leave behind in memory and on disk. */
export async function measureFlood(root: string, requests: number): Promise<Flood> {
  const folder = await mkdtemp(join(tmpdir(), 'paystile-bench-flood-'))
  const dataDir = join(folder, 'data')
  const chain = await startDevChain()
  const target = await startOurs({ chain, root, dataDir })
  try {
    const { method, path, body } = target.asking
    const request = Buffer.from(requestText(method, path, {}, body))
    const ask: Parameters<typeof runLoad>[3] = async (connection) => {
      const { status } = await connection.send(request)
      return status === 402 ? undefined : `HTTP ${status}`
    }
    // A process that has just started grows by itself; what counts is what comes after.
    await runLoad(target.url, 64, { count: Math.ceil(requests / 10) }, ask)
    const before = { rss: (await target.usage()).rssBytes, disk: await bytesIn(dataDir) }
    const load = await runLoad(target.url, 64, { count: requests }, ask)
    return {
      requests: load.ok,
      failed: load.failed,
      perSecond: load.ok / load.seconds,
      rssGrowthMiB: ((await target.usage()).rssBytes - before.rss) / 2 ** 20,
      diskGrowthBytes: (await bytesIn(dataDir)) - before.disk,
    }
  } finally {
    await target.stop()
    await chain.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true })
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
