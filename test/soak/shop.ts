import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../src/testing/free-port.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

const CLOCK = fileURLToPath(new URL('./clock.mjs', import.meta.url))
const START_LIMIT_MS = 120_000
/** A busy process hears of its new clock after a moment. */
const HEARD_MS = 1_000

/** One of the servers, through all its lives. */
export interface Instance {
  readonly name: string
  readonly origin: string
  readonly dataDir: string
  /** Undefined: it does not run. */
  pid(): number | undefined
  start(): Promise<void>
  kill(): Promise<void>
  /** As an upgrade stops it: what is under way may finish. */
  stop(): Promise<void>
  /** Puts its wall clock forward or back. */
  shiftClock(offsetMs: number): void
  /** Is its clock wrong, or was it at any time since then? */
  isShifted(sinceMs?: number): boolean
}

export async function createInstance(
  name: string,
  folder: string,
  env: Record<string, string>,
): Promise<Instance> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const dataDir = join(folder, name)
  mkdirSync(dataDir, { recursive: true })
  const log = openSync(join(folder, `${name}.log`), 'a')
  let child: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()
  let offsetMs = 0
  let steadyAt = 0

  async function end(how: NodeJS.Signals): Promise<void> {
    const ending = child
    child = undefined
    ending?.kill(how)
    await ended
  }

  return {
    name,
    origin,
    dataDir,
    pid: () => (child && child.exitCode === null && child.signalCode === null ? child.pid : undefined),
    async start() {
      const started = spawn(process.execPath, ['--import', CLOCK, SERVER_PROGRAM, 'serve'], {
        env: { PATH: process.env.PATH ?? '', ...env, PORT: String(port), DATA_DIR: dataDir },
        stdio: ['ignore', log, log, 'ipc'],
      })
      ended = new Promise((exit) => started.once('exit', exit))
      child = started
      if (offsetMs !== 0) started.send({ offsetMs })
      const limit = Date.now() + START_LIMIT_MS
      while (!(await answers(`${origin}/health`))) {
        // A store that is down, or an RPC that is cut off, may keep it from starting; a supervisor starts it again.
        if (started.exitCode !== null || started.signalCode !== null) return
        if (Date.now() > limit) throw new Error(`${name} did not answer within ${START_LIMIT_MS / 1000} s`)
        await sleep(100)
      }
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    shiftClock(ms) {
      offsetMs = ms
      steadyAt = Date.now() + HEARD_MS
      if (child?.connected) child.send({ offsetMs })
    },
    isShifted: (sinceMs = Date.now()) => offsetMs !== 0 || sinceMs < steadyAt,
  }
}

async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
  await answer?.body?.cancel()
  return answer?.ok ?? false
}

/** Starts again whatever has ended without being told to, as a supervisor does. Returns how often that was. */
export function superviseInstances(instances: readonly Instance[], isBusy: (one: Instance) => boolean) {
  let restarts = 0
  let over = false
  const watching = (async () => {
    while (!over) {
      for (const one of instances) {
        if (one.pid() !== undefined || isBusy(one)) continue
        restarts++
        await one.start()
      }
      await sleep(500)
    }
  })()
  return {
    restarts: () => restarts,
    async end() {
      over = true
      await watching
    },
  }
}
