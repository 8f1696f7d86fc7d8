import { type ChildProcess, spawn } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Usage {
  cpuSeconds: number
  rssBytes: number
}

/** A server under measurement: a real process over real HTTP. */
export interface ChildServer {
  url: string
  usage(): Promise<Usage>
  stop(): Promise<void>
}

const START_LIMIT_MS = 60_000
const STOP_LIMIT_MS = 10_000

// Loaded before the program itself: tells what the process has used, and ends it with us.
const reporter = `data:text/javascript,${encodeURIComponent(`
  process.on('disconnect', () => process.exit(1))
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send({ cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() })
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
    await sleep(50)
  }
  child.kill('SIGKILL')
  throw new Error(`a server did not start (${url}):\n${said()}`)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}
