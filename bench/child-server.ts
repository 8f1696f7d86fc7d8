import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../src/testing/free-port.ts'

export interface Usage {
  cpuSeconds: number
  rssBytes: number
  /** Requests to the chain since the last time that this was asked. */
  calls: ChainCall[]
}

/** From its first byte to the last one of its answer, on the clock of {@link nowMs}. */
export interface ChainCall {
  fromMs: number
  toMs: number
  /** It sends a transaction. */
  sends: boolean
  /** How many calls of JSON-RPC it carries: providers count each one of a batch. */
  count: number
}

/** The same clock in every process of this machine. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

/** A server under measurement: a real process over real HTTP. */
export interface ChildServer {
  url: string
  usage(): Promise<Usage>
  stop(): Promise<void>
}

/** Our command line. `npm test`, which measures nothing, names a bundle that starts faster. */
export const serverProgram = (root: string): string =>
  process.env.PAYSTILE_SERVER_PROGRAM ?? join(root, 'dist/cli/main.js')

const START_LIMIT_MS = 60_000
const STOP_LIMIT_MS = 10_000

// Loaded before the program itself: tells what the process has used, and ends it with us.
const reporter = `data:text/javascript,${encodeURIComponent(`
  import { subscribe } from 'node:diagnostics_channel'
  const chain = process.env.RPC_URL && new URL(process.env.RPC_URL).origin
  const nowMs = () => Number(process.hrtime.bigint()) / 1e6
  const underWay = new Map()
  let calls = []
  subscribe('undici:client:sendHeaders', ({ request }) => {
    if (String(request.origin) !== chain) return
    // The body of fetch cannot be read here; the peer sends each call on its own.
    const body = String(request.body)
    const count = Math.max(1, body.split('"jsonrpc"').length - 1)
    underWay.set(request, { fromMs: nowMs(), sends: body.includes('eth_sendRawTransaction'), count })
  })
  const end = ({ request }) => {
    if (underWay.has(request)) calls.push({ ...underWay.get(request), toMs: nowMs() })
    underWay.delete(request)
  }
  subscribe('undici:request:trailers', end)
  subscribe('undici:request:error', end)
  process.on('disconnect', () => process.exit(1))
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send({ cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss(), calls })
    calls = []
  })
  process.channel.unref()
`)}`

/** Starts a program that listens on `env.PORT`, and waits until `readyPath` is answered below 500. */
export async function startServer(
  file: string,
  args: string[],
  env: Record<string, string>,
  readyPath = '/',
): Promise<ChildServer> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, ['--import', reporter, file, ...args], {
    env: { PATH: process.env.PATH ?? '', NODE_ENV: 'production', ...env, PORT: String(port), BASE_URL: url },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let said = ''
  child.stderr!.on('data', (text: Buffer) => {
    said = (said + text.toString()).slice(-4000)
  })
  const exited = new Promise<void>((over) => child.once('exit', () => over()))
  await untilReady(child, `${url}${readyPath}`, () => said)
  return {
    url,
    usage: () =>
      new Promise((resolve) => {
        child.once('message', (usage) => resolve(usage as Usage))
        child.send('usage')
      }),
    async stop() {
      child.kill('SIGTERM')
      const hammer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
      await exited
      clearTimeout(hammer)
    },
  }
}

async function untilReady(child: ChildProcess, url: string, said: () => string): Promise<void> {
  const deadline = performance.now() + START_LIMIT_MS
  while (child.exitCode === null && performance.now() < deadline) {
    const status = await fetch(url).then(
      (response) => response.status,
      () => 0,
    )
    if (status > 0 && status < 500) return
    await sleep(20)
  }
  child.kill('SIGKILL')
  throw new Error(`a server did not start (${url}):\n${said()}`)
}
