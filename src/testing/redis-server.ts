import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { runAtParentsEnd, unrefStream } from './run-at-parents-end.ts'

/** A private Redis server: its own port and data folder. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Holds its data, and is deleted with it. */
  readonly folder: string
  /** Ends it and removes its folder. */
  stop(): Promise<void>
  /** Ends it with SIGKILL. */
  kill(): Promise<void>
  /** Starts it again on the same port and data; ends it first if it runs. */
  restart(): Promise<void>
  /** Stops its process: connections stay open, and nothing is answered. */
  freeze(): void
  thaw(): void
}

/** How a private Redis server keeps its data. */
export interface RedisServerOptions {
  appendonly?: boolean
  appendfsync?: 'always' | 'everysec' | 'no'
  /** Default: a free one. */
  port?: number
  /** More settings as in redis.conf, e.g. `{ requirepass: 'secret' }`. */
  config?: Record<string, string>
}

/** Below the range from which systems choose ports for outgoing connections, so the port stays free during a restart. */
const FIRST_PORT = 20_000
const LAST_PORT = 32_000
const PORT_TRIES = 20

/**
 * Starts a real Redis of our own on a free port of this machine, with data in a folder of its own. It ends when
 * this process ends in any way.
 *
 * @example
 * import { createGateway } from 'paystile'
 *
 * const redis = await startRedis({ appendfsync: 'always' })
 * const gateway = await createGateway({ walletAddress: '0x…', redisUrl: redis.url })
 */
export async function startRedis({
  appendonly = true,
  appendfsync = 'always',
  port,
  config = {},
}: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-redis-'))
  const settings = {
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: appendonly ? 'yes' : 'no',
    appendfsync,
    ...config,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  try {
    return await startOnFreePort(args, folder, port)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function startOnFreePort(
  args: string[],
  folder: string,
  wanted: number | undefined,
): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? randomInt(FIRST_PORT, LAST_PORT)
    const start = () => spawnRedis(['--port', String(port), ...args], folder)
    try {
      return control(await start(), start, port, folder)
    } catch (error) {
      const taken = error instanceof Error && error.message.includes('Address already in use')
      if (!taken || wanted !== undefined || attempt === PORT_TRIES) throw error
    }
  }
}

function control(
  first: RedisProcess,
  start: () => Promise<RedisProcess>,
  port: number,
  folder: string,
): RedisServer {
  let running = first
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    folder,
    get pid() {
      return running.pid
    },
    async stop() {
      await running.end('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
    kill: () => running.end('SIGKILL'),
    async restart() {
      await running.end('SIGTERM')
      running = await start()
    },
    freeze: () => running.signal('SIGSTOP'),
    thaw: () => running.signal('SIGCONT'),
  }
}

export interface RedisProcess {
  readonly pid: number
  signal(name: NodeJS.Signals): void
  /** Resolves when the process has ended. */
  end(how: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** Runs redis-server with these arguments and resolves when it says that it is ready. */
export async function spawnRedis(
  args: string[],
  folder: string,
  readyLine = 'Ready to accept connections',
): Promise<RedisProcess> {
  // In a process group of its own: Ctrl-C ends only this process, which can shut down while the server still answers.
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const forget = child.pid && runAtParentsEnd('kill -9 "$1"; rm -rf "$2"', String(child.pid), folder)
  if (forget) void exited.then(forget)
  const end: RedisProcess['end'] = async (how) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    // A frozen process reacts to SIGKILL only.
    child.kill('SIGCONT')
    child.kill(how)
    const hammer = setTimeout(() => child.kill('SIGKILL'), 5_000)
    await exited
    clearTimeout(hammer)
  }
  try {
    await untilItSays(child, readyLine)
  } catch (error) {
    await end('SIGKILL')
    throw error
  }
  // A forgotten stop() must not keep us alive; the server is then ended with us.
  child.unref()
  unrefStream(child.stdout)
  return { pid: child.pid!, signal: (name) => void child.kill(name), end }
}

function untilItSays(child: ChildProcess, readyLine: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const said: string[] = []
    // Read to the end: a full pipe would block the server.
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.includes(readyLine)) resolve()
      else if (said.length < 100) said.push(line)
    })
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const message =
        cause.code === 'ENOENT'
          ? 'redis-server is missing. Install Redis first; on Debian: apt-get install redis-server'
          : `redis-server did not start: ${cause.message}`
      reject(new Error(message, { cause }))
    })
    child.once('close', (code, signal) => {
      reject(new Error(`redis-server did not start (${signal ?? `exit code ${code}`}):\n${said.join('\n')}`))
    })
  })
}
