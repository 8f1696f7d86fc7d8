import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { LAST_PORT, readPort } from '../config/server-variables.ts'

const TRIED = 50

/** What `PORT` says, checked as `paystile serve` checks it; blank is not set. */
export function wantedPort({ PORT }: Readonly<Record<string, string | undefined>>): number {
  const text = PORT?.trim()
  if (!text) return 3000
  const read = readPort(text, 'PORT=3000')
  if ('fault' in read) throw new Error(`PORT ${read.fault}`)
  return read.value
}

/** The wanted port, or the next free one; for 0 any that is free. */
export async function choosePort(wanted: number): Promise<number> {
  const last = Math.min(wanted + TRIED - 1, LAST_PORT)
  for (let port = wanted; port <= last; port++) {
    const probe = createServer()
    const free = await new Promise<boolean>((done) => {
      probe.once('error', () => done(false))
      probe.listen(port, () => done(true))
    })
    if (!free) continue
    const { port: found } = probe.address() as AddressInfo
    await new Promise((closed) => probe.close(closed))
    return found
  }
  throw new Error(`No free port between ${wanted} and ${last}; set PORT.`)
}
