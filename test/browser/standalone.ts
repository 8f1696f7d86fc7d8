import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../e2e/world.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

export interface Standalone {
  url: string
  /** The address with a token that the server printed when it started last. */
  printedUrl(): string
  /** Ends the process and starts another one on the same data. */
  restart(): Promise<void>
  /** Ends the process without a chance to finish anything. */
  kill(): Promise<void>
  /** Starts it again after `kill`. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** The real standalone server in a process of its own, with a data folder of its own. */
export async function startStandalone(
  settings: Record<string, string> = {},
  basePath = '',
): Promise<Standalone> {
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-browser-'))
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}${basePath}`
  const env = { PATH: process.env.PATH ?? '', PORT: port, BASE_URL: url, DATA_DIR: dataDir, ...settings }
  let child: ChildProcess | undefined
  let printed = ''

  async function start(): Promise<void> {
    const started = spawn(process.execPath, [SERVER_PROGRAM, 'serve'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child = started
    const lines = createInterface({ input: started.stdout })
    await new Promise<void>((resolve, reject) => {
      started.once('exit', (code) => reject(new Error(`the server ended with exit code ${code}`)))
      lines.on('line', (line) => {
        printed = /"(http[^"]+\?token=[^"]+)"/.exec(line)?.[1] ?? printed
        if (/"message":"(ready|not configured yet)/.test(line)) resolve()
      })
    })
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  await start()
  return {
    url,
    printedUrl: () => printed,
    async restart() {
      await end('SIGTERM')
      await start()
    },
    kill: () => end('SIGKILL'),
    start,
    async stop() {
      await end('SIGKILL')
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
