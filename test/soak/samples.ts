import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hands } from './deal.ts'
import type { Site } from './site.ts'

/** What one instance held at one moment. */
export interface Held {
  rssBytes: number
  handles: number
  diskBytes: number
}

export interface Sample {
  at: number
  /** By instance; undefined: it was down. */
  instances: Array<Held | undefined>
  storeBytes: number
  delivered: number
}

const EVERY_MS = 3_000

export function startSampling(site: Site, hands: Hands) {
  const samples: Sample[] = []
  let over = false
  const sampling = (async () => {
    while (!over) {
      samples.push({
        at: Date.now(),
        instances: site.instances.map(({ pid, dataDir }) => heldBy(pid(), dataDir)),
        storeBytes: bytesBelow(site.store.folder),
        delivered: hands.deals.filter(({ got }) => got).length,
      })
      await sleep(EVERY_MS)
    }
  })()
  return {
    samples,
    async end() {
      over = true
      await sampling
    },
  }
}

function heldBy(pid: number | undefined, dataDir: string): Held | undefined {
  if (pid === undefined) return undefined
  try {
    const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    const handles = readdirSync(`/proc/${pid}/fd`).length
    return { rssBytes: Number(kib) * 1024, handles, diskBytes: bytesBelow(dataDir) }
  } catch {
    // It has just ended.
    return undefined
  }
}

function bytesBelow(folder: string): number {
  let sum = 0
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) sum += bytesBelow(path)
      else if (entry.isFile()) sum += statSync(path, { throwIfNoEntry: false })?.size ?? 0
    }
  } catch {
    // A folder that was removed meanwhile holds nothing.
  }
  return sum
}
