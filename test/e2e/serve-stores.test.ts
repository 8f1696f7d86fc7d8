import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { type DevChain, type PostgresServer, startDevChain, startPostgres } from '../../src/testing/index.ts'
import { startTlsRedis, type TlsRedis } from '../conformance/tls-redis.ts'
import { eventually, freePort, TOKEN_SECRET } from './world.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

let chain: DevChain
let database: PostgresServer
let redis: TlsRedis
let dataDir: string
beforeAll(async () => {
  ;[chain, database, redis] = await Promise.all([startDevChain(), startPostgres(), startTlsRedis()])
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-serve-'))
})
afterAll(async () => {
  await Promise.all([chain.stop(), database.stop(), redis.stop()])
  await rm(dataDir, { recursive: true, force: true })
})

/** `paystile serve` on these stores, with what it has written and its exit code. */
async function serve(stores: Record<string, string>) {
  const port = String(await freePort())
  const baseUrl = `http://127.0.0.1:${port}`
  const env = {
    PATH: process.env.PATH ?? '',
    PORT: port,
    BASE_URL: baseUrl,
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    TOKEN_SECRET,
    SVC_SECRET_KEY: 'ab'.repeat(32),
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    DATA_DIR: dataDir,
    POLL_INTERVAL_MS: '50',
    ...stores,
  }
  const child = spawn(process.execPath, [MAIN, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const written = { out: '', err: '' }
  child.stdout.on('data', (text) => {
    written.out += String(text)
  })
  child.stderr.on('data', (text) => {
    written.err += String(text)
  })
  const ended = new Promise<number | null>((code) => child.once('close', code))
  return { baseUrl, written, ended, kill: (signal: NodeJS.Signals) => child.kill(signal) }
}

test('a Redis that only wakes instances, with a certificate that nobody trusts: the server sells, and says what is wrong', async () => {
  const server = await serve({ DATABASE_URL: database.url, REDIS_URL: `rediss://${redis.host}` })
  try {
    await eventually(() => server.written.out.includes('"message":"ready"'))
    const buyer = await chain.newBuyer({ micro: 1_000_000n })
    const { grant } = await createBuyer({ account: buyer.account, maxAmount: '$1.00' }).buy(server.baseUrl, {
      planId: 'basic',
    })
    expect(grant.tokenType).toBe('Bearer')
    const alerts = server.written.out.split('\n').filter((line) => line.includes('REDIS_URL'))
    expect(alerts).toEqual([
      expect.stringMatching(/"alert":"job-failed".*REDIS_URL: redis at localhost:\d+ has a self-signed/),
    ])
    server.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  } finally {
    server.kill('SIGKILL')
  }
})

test('a Redis that holds the records, with such a certificate: the server names the variable and the fault, and ends with 1', async () => {
  const server = await serve({ REDIS_URL: `rediss://${redis.host}` })
  try {
    expect(await server.ended).toBe(1)
    expect(server.written.err).toMatch(
      /^REDIS_URL: redis at localhost:\d+ has a self-signed certificate\. Name its authority in NODE_EXTRA_CA_CERTS, .*\n$/,
    )
  } finally {
    server.kill('SIGKILL')
  }
})

test('a start that fails ends the process also where something else in it goes on, such as a module of the operator', async () => {
  const goesOn = 'data:text/javascript,setInterval(() => {}, 1000)'
  const server = await serve({
    DATABASE_URL: database.url.replace(/postgres$/, 'absent'),
    NODE_OPTIONS: `--import "${goesOn}"`,
  })
  try {
    expect(await server.ended).toBe(1)
    expect(server.written.err).toMatch(/^DATABASE_URL: .* database "absent" does not exist\n$/)
  } finally {
    server.kill('SIGKILL')
  }
})
