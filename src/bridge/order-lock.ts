import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than any purchase takes; after a restart of the machine, another process may have the number of the old one. */
const STALE_AFTER_MS = 15 * 60_000
const LOOK_AGAIN_MS = 100
/** Of this process. In a container a process may have the number of the one that died before it. */
const ours = new Set<string>()

/**
 * Lets one process at a time work on an order, so that no answer is fetched by two. That nothing is paid twice does not
 * depend on it: whoever comes second finds the stored payment.
 */
export function tryLock(file: string): (() => void) | undefined {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  for (let tries = 0; tries < 2; tries++) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 })
      ours.add(file)
      return () => {
        ours.delete(file)
        rmSync(file, { force: true })
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      if (isHeld(file)) return undefined
      rmSync(file, { force: true })
    }
  }
  return undefined
}

/** Undefined: another process held it all the time. */
export async function lock(file: string, maxWaitMs: number): Promise<(() => void) | undefined> {
  const deadlineMs = Date.now() + maxWaitMs
  for (;;) {
    const unlock = tryLock(file)
    if (unlock || Date.now() > deadlineMs) return unlock
    await sleep(LOOK_AGAIN_MS)
  }
}

function isHeld(file: string): boolean {
  try {
    if (Date.now() - statSync(file).mtimeMs > STALE_AFTER_MS) return false
    const pid = Number(readFileSync(file, 'utf8'))
    // Just created, and its owner not yet written.
    if (pid === 0) return true
    if (pid === process.pid) return ours.has(file)
    return process.kill(pid, 0)
  } catch (error) {
    // The process is somebody else's, but it lives.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
