import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GatewayOptions } from '../config/options.ts'
import { findNetwork } from '../protocol/networks.ts'
import {
  type DevChain,
  type PostgresServer,
  type RedisServer,
  startDevChain,
  startFacilitator,
  startPostgres,
  startRedis,
  type TestFacilitator,
} from '../testing/index.ts'
import { checkChain } from './check-chain.ts'
import { liveChecks } from './live-checks.ts'
import { runChecks } from './run-checks.ts'

let chain: DevChain
let facilitator: TestFacilitator
let redis: RedisServer
let postgres: PostgresServer
let backend: Server
let backendUrl: string
/** A port on which nothing listens any more. */
let nobody: string
let dataDir: string
let status = 404

beforeAll(async () => {
  ;[chain, redis, postgres] = await Promise.all([
    startDevChain(),
    startRedis({ appendonly: true, appendfsync: 'everysec' }),
    startPostgres(),
  ])
  facilitator = await startFacilitator({ chain })
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-checks-'))
  nobody = await startNobody()
  backend = createServer((_request, response) => response.writeHead(status).end())
  await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening))
  backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((closed) => backend.close(closed))
  await facilitator.stop()
  await Promise.all([chain.stop(), redis.stop(), postgres.stop()])
  await rm(dataDir, { recursive: true, force: true })
})

async function startNobody(): Promise<string> {
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return `127.0.0.1:${port}`
}

/** Levels and messages by name; the data folder is always checked. */
async function look(options: Partial<GatewayOptions>) {
  const whole = { rpcUrl: chain.rpcUrl, store: { dataDir }, facilitatorUrl: facilitator.url, ...options }
  const findings = await runChecks(liveChecks(whole as GatewayOptions))
  const told = findings.map(({ name, level, message, fix }) => [name, `${level}: ${message} ${fix ?? ''}`])
  return Object.fromEntries(told) as Record<string, string>
}

describe('liveChecks', () => {
  test('a working configuration is ok', async () => {
    const seller = chain.account(0)
    const found = await look({
      walletAddress: seller.address,
      refundWalletPrivateKey: seller.privateKey,
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      proxyTo: { baseUrl: backendUrl },
      issueTokenApi: `${backendUrl}/token`,
    })
    expect(Object.keys(found).sort()).toEqual([
      'DATABASE_URL',
      'DATA_DIR',
      'FACILITATOR_URL',
      'ISSUE_TOKEN_API',
      'PROXY_TO_BASE_URL',
      'REDIS_URL',
      'REFUND_WALLET_PRIVATE_KEY',
      'RPC_URL',
      'SVC_WALLET_ADDRESS',
      'clock',
    ])
    for (const [name, line] of Object.entries(found)) expect(line, name).toMatch(/^ok: /)
  })

  test('an RPC of another chain is reported with both chain ids', async () => {
    const found = await look({ network: 'mainnet' })
    expect(found.RPC_URL).toMatch(/^error: .* answers chainId 84532 instead of 8453.* Set RPC_URL/)
  })

  test('a clock that is behind is reported', async () => {
    const labels = {
      rpcUrl: 'RPC_URL',
      walletAddress: '',
      gasWalletPrivateKey: '',
      facilitatorUrl: '',
      settlerContract: 'SETTLER_CONTRACT',
      refundWalletPrivateKey: '',
    }
    const place = { network: findNetwork('testnet')!, labels, several: false }
    const behind = () => Date.now() - 600_000
    const findings = await runChecks([checkChain(chain.rpcUrl, place, behind)])
    expect(findings).toContainEqual(expect.objectContaining({ name: 'clock', level: 'warn' }))
  })

  test('every server that cannot be reached is named, with a fix and without its secrets', async () => {
    const found = await look({
      rpcUrl: `http://${nobody}/v2/hunter2hunter2hunter2`,
      facilitatorUrl: `http://${nobody}`,
      proxyTo: { baseUrl: `http://${nobody}` },
      issueTokenApi: 'http://no-such-host.invalid/x',
      databaseUrl: `postgres://u:hunter2@${nobody}/d`,
      redisUrl: `redis://:hunter2@${nobody}`,
      walletAddress: chain.account(0).address,
    })
    for (const name of ['RPC_URL', 'FACILITATOR_URL', 'PROXY_TO_BASE_URL']) {
      expect(found[name]).toMatch(new RegExp(`^error: .*${nobody} refuses the connection .+`))
    }
    expect(found.SVC_WALLET_ADDRESS).toMatch(/^warn: .* Fix RPC_URL first/)
    for (const name of ['ISSUE_TOKEN_API', 'DATABASE_URL', 'REDIS_URL']) {
      expect(found[name], name).toMatch(/^error: .+/)
    }
    expect(JSON.stringify(found)).not.toContain('hunter2')
  })

  test('a database that refuses our password is reported as such', async () => {
    const url = new URL(postgres.url)
    url.pathname = '/no_such_database'
    expect((await look({ databaseUrl: url.href })).DATABASE_URL).toMatch(/^error: .*no_such_database/)
  })

  test('gas wallets: funded, nearly empty, empty', async () => {
    const [rich, poor] = [chain.account(1), await chain.newBuyer()]
    expect((await look({ gasWalletPrivateKey: rich.privateKey })).GAS_WALLET_PRIVATE_KEY).toMatch(
      /^ok: .* ETH/,
    )
    const empty = (await look({ gasWalletPrivateKey: poor.privateKey })).GAS_WALLET_PRIVATE_KEY
    expect(empty).toMatch(new RegExp(`^error: ${poor.address} holds 0 ETH.* Send ETH`))
    await chain.fundEth(poor.address, 10n ** 15n)
    expect((await look({ gasWalletPrivateKey: poor.privateKey })).GAS_WALLET_PRIVATE_KEY).toMatch(
      /^error: .* too little for a full transaction/,
    )
    await chain.fundEth(poor.address, 10n ** 17n)
    expect((await look({ gasWalletPrivateKey: poor.privateKey })).GAS_WALLET_PRIVATE_KEY).toMatch(/^warn: /)
    expect(empty).not.toContain(poor.privateKey.slice(2))
  })

  test('an empty refund wallet that is not the seller’s wallet is a warning', async () => {
    const other = await chain.newBuyer({ micro: 0n })
    const found = await look({
      walletAddress: chain.account(0).address,
      refundWalletPrivateKey: other.privateKey,
    })
    expect(found.REFUND_WALLET_PRIVATE_KEY).toMatch(/^warn: .* holds 0\.00 USDC/)
  })

  test('a Redis that is not durable is a warning on testnet, and none if Postgres keeps the records', async () => {
    const lossy = (await look({ redisUrl: redis.url })).REDIS_URL
    const carrier = (await look({ redisUrl: redis.url, databaseUrl: postgres.url })).REDIS_URL
    expect(carrier).toMatch(/^ok/)
    expect(lossy).toMatch(/^warn: Redis has appendfsync everysec/)
  })

  test('a backend that answers 500 is a warning', async () => {
    status = 500
    expect((await look({ proxyTo: { baseUrl: backendUrl } })).PROXY_TO_BASE_URL).toMatch(/^warn: .*HTTP 500/)
    status = 404
  })

  test('a data folder that is a file is reported', async () => {
    const file = join(dataDir, 'file')
    await writeFile(file, '')
    expect((await look({ store: { dataDir: file } })).DATA_DIR).toMatch(/^error: /)
  })

  test('checks of missing and malformed options are left out', async () => {
    const bad = {
      network: 'moon',
      walletAddress: '0x1234',
      rpcUrl: 'x',
      gasWalletPrivateKey: 'y',
      proxyTo: { baseUrl: 5 as unknown as string },
      issueTokenApi: 'ftp://x',
      databaseUrl: '',
    }
    expect(Object.keys(await look(bad))).toEqual(['DATA_DIR'])
  })
})

describe('runChecks', () => {
  test('a check that hangs is reported after its limit, and does not delay the others', async () => {
    const hangs = { name: 'A', asks: 'it', fix: 'Fix it.', run: () => new Promise<never>(() => {}) }
    const quick = {
      ...hangs,
      name: 'B',
      run: async () => [{ name: 'B', level: 'ok' as const, message: 'good' }],
    }
    expect(await runChecks([hangs, quick], 10)).toEqual([
      { name: 'A', level: 'error', message: 'it does not answer within 0.01 s', fix: 'Fix it.' },
      { name: 'B', level: 'ok', message: 'good' },
    ])
  })
})
