import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { resolveAnvil } from './resolve-anvil.ts'
import { runAtParentsEnd, unrefStream } from './run-at-parents-end.ts'

export type AnvilProcess = {
  port: number
  pid: number
  /** Holds states that anvil does not keep in memory, and is deleted with it. */
  folder: string
  stop(): Promise<void>
}

/**
 * Starts anvil and resolves when it listens.
 *
 * What it writes is in a folder that we remove, so it can be killed outright: it would remove its own folder when asked to
 * end, but does not end as long as a client keeps a connection alive.
 */
export async function spawnAnvil(args: string[]): Promise<AnvilProcess> {
  const anvil = resolveAnvil()
  const folder = mkdtempSync(join(tmpdir(), 'paystile-anvil-'))
  // In a process group of its own: Ctrl-C ends only this process, which can shut down while the chain still answers.
  const child = spawn(anvil, [...args, '--cache-path', folder], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const forget = endWithParent(child, folder)
  const ended = exited.then(() => {
    forget()
    rmSync(folder, { recursive: true, force: true })
  })
  const said: string[] = []
  try {
    const port = await listeningPort(child, said)
    child.once('close', tellUnexpectedEnd)
    // A forgotten stop() must not keep the parent alive; the exit hook then ends the child.
    child.unref()
    return { port, pid: child.pid!, folder, stop }
  } catch (error) {
    await stop()
    throw error
  }

  // Whoever used the chain sees only broken connections, which do not say why.
  function tellUnexpectedEnd(code: number | null, signal: NodeJS.Signals | null): void {
    process.stderr.write(
      `The local chain ended by itself (${howItEnded(code, signal)}). ${lastWords(said)}\n`,
    )
  }

  async function stop(): Promise<void> {
    child.off('close', tellUnexpectedEnd)
    child.ref()
    child.kill('SIGKILL')
    await ended
  }
}

function howItEnded(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ?? `exit code ${code}`
}

function lastWords(said: readonly string[]): string {
  return said.join(' ').slice(-500)
}

// With --port 0 the kernel picks the port and anvil prints it: no race for a free one.
function listeningPort(child: ChildProcess, said: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      said.push(line)
      if (said.length > 20) said.shift()
    })
    // Reads as long as anvil runs: a full pipe would block it.
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const match = /^Listening on .*:(\d+)$/.exec(line)
      if (match) {
        unrefStream(child.stdout)
        unrefStream(child.stderr)
        resolve(Number(match[1]))
      }
    })
    child.once('error', (cause) => reject(new Error(`anvil did not start: ${cause.message}`, { cause })))
    child.once('close', (code, signal) =>
      reject(new Error(`anvil did not start (${howItEnded(code, signal)}): ${lastWords(said)}`)),
    )
  })
}

const living = new Set<ChildProcess>()

/**
 * Ends the child and removes its folder when this process ends. Returns a function that cancels this.
 *
 * - Normal end, `process.exit`, uncaught exception: the exit hook ends it.
 * - SIGINT, SIGTERM: without other handlers, the child is ended and the signal has its usual effect. If the program has a
 *   handler of its own, that decides when to exit, and the exit hook does the rest.
 * - SIGKILL: see runAtParentsEnd, which also removes the folder, whatever the end was. On Windows child and folder stay.
 */
function endWithParent(child: ChildProcess, folder: string): () => void {
  if (living.size === 0) {
    process.on('exit', endLiving)
    process.on('SIGINT', endBySignal)
    process.on('SIGTERM', endBySignal)
  }
  living.add(child)
  const forget = child.pid && runAtParentsEnd('kill -9 "$1"; rm -rf "$2"', String(child.pid), folder)
  return () => {
    if (forget) forget()
    living.delete(child)
    if (living.size === 0) removeHooks()
  }
}

function endLiving(): void {
  for (const child of living) child.kill('SIGKILL')
}

function endBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  endLiving()
  removeHooks()
  process.kill(process.pid, signal)
}

function removeHooks(): void {
  process.off('exit', endLiving)
  process.off('SIGINT', endBySignal)
  process.off('SIGTERM', endBySignal)
}
