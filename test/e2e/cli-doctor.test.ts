import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { boot } from '../../src/server/boot.ts'
import {
  type DevChain,
  startDevChain,
  startFacilitator,
  startPostgres,
  startRedis,
  type TestFacilitator,
} from '../../src/testing/index.ts'
import { cli } from './cli-terminal.ts'
import { freePort, TOKEN_SECRET } from './world.ts'

type Env = Record<string, string>

const SECRET_KEY = 'k'.repeat(32)
const ROUTES = '[{"routeId":"weather","method":"GET","path":"/weather/:city","unitAmount":"$0.01"}]'

let chain: DevChain
let mainnet: DevChain
let facilitator: TestFacilitator
let healthy: Env
let server: { close(): Promise<void> }
let dataDir: string
const closing: Array<() => Promise<unknown>> = []

beforeAll(async () => {
  ;[chain, mainnet] = await Promise.all([startDevChain(), startDevChain({ chainId: 8453 })])
  facilitator = await startFacilitator({ chain: mainnet })
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-doctor-'))
  const port = await freePort()
  healthy = {
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    SVC_MANAGED_INFRA: 'none',
    SVC_WALLET_ADDRESS: chain.account(0).address,
    RPC_URL: chain.rpcUrl,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: chain.account(0).privateKey,
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    TOKEN_SECRET,
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    MCP_ENABLED: 'true',
    ADMIN_TOKEN: 'an-admin-token-of-doctor',
    LOG_LEVEL: 'silent',
    DATA_DIR: dataDir,
  }
  server = await boot(healthy, { print: () => {} })
  // A block of now: an idle test chain's newest one grows old.
  await chain.mine(1)
})

afterAll(async () => {
  await server.close()
  for (const close of closing) await close()
  await facilitator.stop()
  await Promise.all([chain.stop(), mainnet.stop()])
  await rm(dataDir, { recursive: true, force: true })
})

interface Told {
  name: string
  level: string
  message: string
  fix?: string
}

async function examined(env: Env): Promise<{ code: number; findings: Told[]; text: string }> {
  const { code, output } = await cli(env, 'doctor', '--json')
  return { code, findings: JSON.parse(output).findings, text: output }
}

async function listening(answer: RequestListener): Promise<string> {
  const http: Server = createServer(answer)
  await new Promise<void>((ready) => http.listen(0, '127.0.0.1', ready))
  closing.push(() => new Promise((closed) => http.close(closed)))
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

test('a healthy server: every line is ok, the exit code is 0, and no secret is printed', async () => {
  const { code, output } = await cli(healthy, 'doctor')
  // A machine may have its temporary files in memory: that alone is worth a warning.
  const told = output.split('\n').filter((line) => /^(warn|error)/.test(line))
  expect(told.filter((line) => !/^warn +DATA_DIR .*(tmpfs|overlay)/.test(line))).toEqual([])
  expect(output).toMatch(/\n\d+ ok, \d warnings?, 0 errors\n$/)
  expect(code).toBe(0)
  for (const name of [
    'RPC_URL',
    'GAS_WALLET_PRIVATE_KEY',
    'BASE_URL',
    'clock',
    'A2A_ENABLED',
    'MCP_ENABLED',
  ]) {
    expect(output, name).toMatch(new RegExp(`^ok +${name} `, 'm'))
  }
  for (const secret of [healthy.GAS_WALLET_PRIVATE_KEY!, TOKEN_SECRET, healthy.ADMIN_TOKEN!]) {
    expect(output).not.toContain(secret)
  }
})

test('plans whose tokens open nothing are an error that names the fix', async () => {
  const { code, output } = await cli({ ...healthy, RESOURCE_ENDPOINT: '' }, 'doctor')
  expect(code).toBe(1)
  expect(output).toMatch(
    /^error +RESOURCE_ENDPOINT .*is missing; plans need somebody who answers .*for example /m,
  )
})

const deadUrl = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

/** Each seeds one fault and names the line that must tell of it. */
const FAULTS: Array<{
  fault: string
  seed(): Promise<Env>
  name: string
  level: 'warn' | 'error'
  says: RegExp
  fix: RegExp
}> = [
  {
    fault: 'an RPC of another chain',
    seed: async () => ({ RPC_URL: mainnet.rpcUrl }),
    name: 'RPC_URL',
    level: 'error',
    says: /chainId 8453 instead of 84532/,
    fix: /Set RPC_URL to a node of eip155:84532/,
  },
  {
    fault: 'an RPC that is not there',
    seed: async () => ({ RPC_URL: await deadUrl() }),
    name: 'RPC_URL',
    level: 'error',
    says: /refuses the connection/,
    fix: /Set RPC_URL/,
  },
  {
    fault: 'a facilitator without the network',
    seed: async () => ({ GAS_WALLET_PRIVATE_KEY: '', FACILITATOR_URL: facilitator.url }),
    name: 'FACILITATOR_URL',
    level: 'error',
    says: /does not settle "exact" on eip155:84532/,
    fix: /GAS_WALLET_PRIVATE_KEY to settle with your own wallet/,
  },
  {
    fault: 'a backend that is not there',
    seed: async () => ({ ROUTES, PROXY_TO_BASE_URL: await deadUrl() }),
    name: 'PROXY_TO_BASE_URL',
    level: 'error',
    says: /the backend at .* refuses the connection/,
    fix: /Start it/,
  },
  {
    fault: 'an empty gas wallet',
    seed: async () => ({ GAS_WALLET_PRIVATE_KEY: generatePrivateKey() }),
    name: 'GAS_WALLET_PRIVATE_KEY',
    level: 'error',
    says: /holds 0 ETH/,
    fix: /^Send ETH on eip155:84532 to 0x/,
  },
  {
    fault: 'a refund wallet without USDC',
    seed: async () => ({ REFUND_WALLET_PRIVATE_KEY: generatePrivateKey() }),
    name: 'REFUND_WALLET_PRIVATE_KEY',
    level: 'warn',
    says: /holds 0\.00 USDC for refunds, and it is not the wallet that is paid/,
    fix: /^Send USDC/,
  },
  {
    fault: 'a Redis that evicts',
    seed: async () => {
      const redis = await startRedis({ config: { 'maxmemory-policy': 'allkeys-lru' } })
      closing.push(redis.stop)
      return { REDIS_URL: redis.url, SVC_SECRET_KEY: SECRET_KEY }
    },
    name: 'REDIS_URL',
    level: 'warn',
    says: /maxmemory-policy allkeys-lru/,
    fix: /redis\.conf/,
  },
  {
    fault: 'a Postgres that does not wait for its disk',
    seed: async () => {
      const postgres = await startPostgres({ fsync: false })
      closing.push(postgres.stop)
      return { DATABASE_URL: postgres.url, SVC_SECRET_KEY: SECRET_KEY }
    },
    name: 'DATABASE_URL',
    level: 'warn',
    says: /fsync off: a power cut may forget who has paid/,
    fix: /Set fsync = on/,
  },
  {
    fault: 'a base URL that leads to another program',
    seed: async () => ({ BASE_URL: await listening((_request, response) => response.end('hello')) }),
    name: 'BASE_URL',
    level: 'error',
    says: /not as paystile does: it points elsewhere/,
    fix: /reverse proxy/,
  },
  {
    fault: 'a base URL that leads to another gateway',
    seed: async () => ({ SVC_WALLET_ADDRESS: chain.account(7).address }),
    name: 'BASE_URL',
    level: 'error',
    says: /is another gateway, or runs with another configuration/,
    fix: /reverse proxy/,
  },
  {
    fault: 'a base URL that cannot be reached while the server runs',
    seed: async () => ({ BASE_URL: await deadUrl() }),
    name: 'BASE_URL',
    level: 'error',
    says: /the server runs on port \d+, but .* refuses the connection/,
    fix: /reverse proxy/,
  },
  {
    fault: 'a clock that is an hour behind everybody else',
    seed: async () => {
      const late = await listening((request, response) => {
        const date = new Date(Date.now() + 3_600_000).toUTCString()
        const answered = fetch(chain.rpcUrl, {
          method: request.method ?? 'POST',
          ...(request.method === 'POST' && { body: request, duplex: 'half' }),
          headers: { 'content-type': 'application/json' },
        } as RequestInit)
        void answered.then(async (answer) => {
          response.writeHead(answer.status, { date, 'content-type': 'application/json' })
          response.end(await answer.text())
        })
      })
      return { RPC_URL: late }
    },
    name: 'clock',
    level: 'error',
    says: /the clock is (about 60 minutes|1 hour|59 minutes) behind that of/,
    fix: /NTP/,
  },
  {
    fault: 'a data folder that cannot be made',
    seed: async () => {
      const file = join(dataDir, 'a-file')
      await writeFile(file, '')
      return { DATA_DIR: join(file, 'data') }
    },
    name: 'DATA_DIR',
    level: 'error',
    says: /cannot be used/,
    fix: /a folder that this process may write to/,
  },
  {
    fault: 'a secret key that others can read',
    seed: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'paystile-doctor-'))
      closing.push(() => rm(folder, { recursive: true, force: true }))
      await writeFile(join(folder, 'secret-key'), SECRET_KEY)
      await chmod(join(folder, 'secret-key'), 0o644)
      return { DATA_DIR: folder }
    },
    name: 'DATA_DIR',
    level: 'error',
    says: /secret-key can be used by others \(mode 0644\)/,
    fix: /^chmod 600 /,
  },
]

test.each(FAULTS)('doctor finds $fault', async ({ seed, name, level, says, fix }) => {
  const { code, findings, text } = await examined({ ...healthy, ...(await seed()) })
  const found = findings.filter((finding) => finding.name === name && says.test(finding.message))
  expect(found, text).toHaveLength(1)
  expect(found[0]).toMatchObject({ level })
  expect(found[0]!.fix).toMatch(fix)
  expect(code).toBe(findings.some((finding) => finding.level === 'error') ? 1 : 0)
  if (level === 'error') expect(code).toBe(1)
})

test('doctor tells of a chain that is ahead of the clock', async () => {
  const before = await chain.snapshot()
  await chain.increaseTime(3600)
  const { findings } = await examined(healthy)
  await chain.revert(before)
  const told = findings.find(({ name, level }) => name === 'clock' && level === 'warn')
  expect(told?.message).toMatch(/the clock is (about 60 minutes|1 hour|59 minutes) behind the chain/)
})

test('a configuration that is wrong or unfinished is reported line by line', async () => {
  const wrong = await examined({
    ...healthy,
    PLANS: '[{"planId":"a","unitAmount":"1.00"}]',
    SVC_NETWORK: 'moon',
  })
  expect(wrong.code).toBe(1)
  expect(wrong.findings.map(({ name, level }) => `${level} ${name}`).sort()).toEqual([
    'error PLANS',
    'error SVC_NETWORK',
  ])
  const { PLANS: _plans, ...unfinished } = healthy
  const { code, findings } = await examined(unfinished)
  expect(code).toBe(1)
  expect(findings.find(({ name }) => name === 'PLANS')).toMatchObject({ level: 'error' })
  expect(
    findings.find(({ name }) => name === 'RPC_URL'),
    'the rest is asked all the same',
  ).toMatchObject({ level: 'ok' })
})
