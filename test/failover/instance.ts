import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { SERVER_PROGRAM } from '../server-program.ts'

/** `paystile serve` in a process of its own. */
export interface Instance {
  readonly url: string
  readonly port: number
  /** The last lines that it wrote. */
  said(): string
  /** SIGTERM lets it finish what it has begun; SIGKILL does not. Resolves when the process is gone. */
  end(how: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

const TAIL = 8_000

/** Resolves when it answers. `program` is the command line of this version, unless another one is named. */
export async function startInstance(
  env: Readonly<Record<string, string>>,
  port: number,
  program = SERVER_PROGRAM,
): Promise<Instance> {
  const child = spawn(process.execPath, [program, 'serve'], {
    env: { PATH: process.env.PATH, ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let tail = ''
  const keep = (chunk: Buffer) => {
    tail = (tail + String(chunk)).slice(-TAIL)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const gone = new Promise<void>((exit) => child.once('exit', () => exit()))
  const isGone = () => child.exitCode !== null || child.signalCode !== null
  // The harness may be stopped at any moment, and leaves no server behind.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  void gone.then(() => process.off('exit', kill))
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    if (isGone()) throw new Error(`an instance ended at its start:\n${tail}`)
    if ((await fetch(`${url}/ready`).catch(() => undefined))?.ok) break
    await sleep(50)
  }
  return {
    url,
    port,
    said: () => tail,
    async end(how) {
      if (!isGone()) child.kill(how)
      await gone
    },
  }
}
