import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { VARIABLES } from '../../src/config/from-env.ts'
import type { GatewayOptions } from '../../src/config/options.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

const ELSEWHERE = 'https://api.example.com/v1/{resourceId}'

/** The standalone server, as a process of its own. */
export interface ServerProcess {
  close(): Promise<void>
  rssBytes(): number
}

/** Starts `paystile serve` with these options said by the environment; resolves when it sells. */
export async function startServerProcess(
  options: GatewayOptions,
  { port, dataDir }: { port: number; dataDir: string },
): Promise<ServerProcess> {
  const issuer = options.fetchResourceCredentials && (await startIssuer(options.fetchResourceCredentials))
  const child = spawn(process.execPath, [SERVER_PROGRAM, 'serve'], {
    env: {
      PATH: process.env.PATH ?? '',
      ...environmentOf(options),
      PORT: String(port),
      DATA_DIR: dataDir,
      SVC_MANAGED_INFRA: 'none',
      LOG_LEVEL: 'error',
      ...(issuer && { ISSUE_TOKEN_API: issuer.url }),
      // Where the gateway does not guard the resource itself, somebody else must serve it.
      ...((issuer || !options.proxyTo) && { RESOURCE_ENDPOINT: options.resourceEndpoint ?? ELSEWHERE }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = new Promise<number | null>((code) => child.once('exit', code))
  let said = ''
  await new Promise<void>((ready, fail) => {
    let line = ''
    const read = (chunk: unknown) => {
      const lines = (line + String(chunk)).split('\n')
      line = lines.pop()!
      for (const one of lines) {
        said = `${said}${one}\n`.slice(-4000)
        const { message, alert } = parse(one)
        if (message === 'ready') ready()
        if (alert !== undefined) options.onAlert?.(alert as never, message ?? '')
      }
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exit.then((code) => fail(new Error(`the server ended with ${code}: ${said}`)))
  })
  return {
    async close() {
      child.kill('SIGTERM')
      await exit
      await issuer?.stop()
    },
    rssBytes() {
      const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
      return Number(kib) * 1024
    },
  }
}

/** Code of the seller's own cannot be said by the environment; a token endpoint that runs it can. */
async function startIssuer(issue: NonNullable<GatewayOptions['fetchResourceCredentials']>) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { planId, resourceId, walletAddress, challengeId, txHash } = JSON.parse(
      String(Buffer.concat(chunks)),
    )
    try {
      const token = await issue(planId, resourceId, walletAddress, { challengeId, txHash })
      response.end(JSON.stringify({ token }))
    } catch {
      response.writeHead(422).end()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}

/** Options that have no variable. The embedded store takes the place of one in memory. */
const UNSAID = new Set(['store', 'onAlert', 'fetchResourceCredentials'])

function environmentOf(options: GatewayOptions): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, { option, member, kind }] of Object.entries(VARIABLES)) {
    const value = settingOf(options[option], member)
    if (value === undefined || UNSAID.has(option)) continue
    env[name] = kind === 'JSON' ? JSON.stringify(value) : String(value)
  }
  const known = new Set<string>(Object.values(VARIABLES).map(({ option }) => option))
  for (const [option, value] of Object.entries(options)) {
    if (value !== undefined && !known.has(option) && !UNSAID.has(option))
      throw new Error(`${option} cannot be said to a server process`)
  }
  return env
}

function settingOf(value: unknown, member: string | undefined): unknown {
  if (member === undefined || value === undefined) return value
  if (typeof value === 'boolean') return member === 'enabled' ? value : undefined
  return member === 'enabled' ? true : (value as Record<string, unknown>)[member]
}

function parse(line: string): { message?: string; alert?: string } {
  try {
    return JSON.parse(line)
  } catch {
    return {}
  }
}
