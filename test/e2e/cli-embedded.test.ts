import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { paystile, paystileAdmin } from '../../src/frameworks/express.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { type DevAccount, type DevChain, startDevChain } from '../../src/testing/index.ts'
import { startPostgres } from '../../src/testing/postgres-server.ts'
import { startRedis } from '../../src/testing/redis-server.ts'
import { cli, cliProcess } from './cli-terminal.ts'
import { freePort, TOKEN_SECRET } from './world.ts'

const TOKEN = 'the-token-of-the-operator'

let chain: DevChain
let seller: DevAccount
let gateway: Gateway
let server: Server
let folder: string
let origin: string
let challengeId: string
let wallet: string

/** A seller's own application, whose gateway has its settings from code and not from the environment. */
beforeAll(async () => {
  chain = await startDevChain()
  seller = chain.account(0)
  folder = await mkdtemp(join(tmpdir(), 'paystile-cli-embedded-'))
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  gateway = await createGateway({
    walletAddress: seller.address,
    gasWalletPrivateKey: chain.account(1).privateKey,
    rpcUrl: chain.rpcUrl,
    store: { dataDir: join(folder, 'data') },
    baseUrl: origin,
    tokenSecret: TOKEN_SECRET,
    plans: [{ planId: 'basic', unitAmount: '$1.00', credits: 10 }],
    pollIntervalMs: 50,
    onAlert: () => {},
  })
  const app = express()
  app.use(express.json())
  app.use(paystile(gateway))
  app.use('/office', paystileAdmin(gateway, { token: TOKEN }))
  server = app.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { account } = await chain.newBuyer({ micro: 5_000_000n })
  const { grant } = await createBuyer({ account, maxAmount: '$1.00' }).buy(origin, { planId: 'basic' })
  challengeId = grant.challengeId
  wallet = account.address
})
afterAll(async () => {
  server?.close().closeAllConnections()
  await gateway?.close()
  await chain?.stop()
  await rm(folder, { recursive: true, force: true })
})

const env = () => ({ DATA_DIR: join(folder, 'data'), SVC_MANAGED_INFRA: 'none', TMPDIR: folder })
const json = async (settings: Record<string, string>, ...argv: string[]) => {
  const { code, output, errors } = await cliProcess(settings, ...argv, '--json')
  expect(errors, argv.join(' ')).toBe('')
  return { code, document: JSON.parse(output) }
}

test('beside the running gateway its folder alone is enough to read the books', async () => {
  const out = join(folder, 'sales.csv')
  const exported = await cliProcess(env(), 'export', '--out', out)
  expect(exported).toMatchObject({ code: 0, errors: '' })
  expect(await readFile(out, 'utf8')).toContain(challengeId)
  const refunds = await cliProcess(env(), 'refunds', 'list')
  expect(refunds).toMatchObject({ code: 0, output: 'No refund waits.\n', errors: '' })
  const { document } = await json(env(), 'credits', 'list')
  expect(document).toMatchObject({ via: 'store', totals: { sold: 10, outstanding: 10 } })
  const webhooks = await cliProcess(env(), 'webhooks', 'list')
  expect(webhooks).toMatchObject({ code: 0, errors: '' })
  expect(await readdir(folder), 'no copy stays behind').toEqual(expect.arrayContaining(['data']))
  expect((await readdir(folder)).filter((name) => name.startsWith('paystile-books-'))).toEqual([])
})

test('the credits of one wallet are listed, and the sums say that they are those of all', async () => {
  const lines = async (...argv: string[]) => (await cli(env(), 'credits', 'list', ...argv)).output.split('\n')
  const lot = expect.stringContaining(`${challengeId}  ${wallet.toLowerCase()}  basic  10 of 10 left`)
  const sums = '0 spent, 10 outstanding, 0 expired, 0 refunded, 0 lost.'
  const all = `All wallets together: 10 credits sold, ${sums}`
  expect(await lines()).toEqual([lot, `10 credits sold: ${sums}`, ''])
  expect(await lines('--wallet', wallet)).toEqual([lot, all, ''])
  expect(await lines('--wallet', seller.address)).toEqual([
    'This wallet bought none that are still stored; paystile export --of credits has earlier ones too.',
    all,
    '',
  ])
})

test('to reconcile, the network and the wallet are stated, and no catalog', async () => {
  const missing = await cliProcess(env(), 'reconcile')
  expect(missing).toMatchObject({ code: 1, errors: expect.stringContaining('SVC_WALLET_ADDRESS') })
  expect(missing.errors).not.toContain('PLANS')
  await chain.mine(5)
  const stated = { ...env(), SVC_WALLET_ADDRESS: seller.address, RPC_URL: chain.rpcUrl }
  const { code, document } = await json(stated, 'reconcile')
  expect({ code, found: document.found }).toEqual({ code: 0, found: [] })
})

test('a command that changes something refuses with one line, and names the way', async () => {
  const refused = await cliProcess(env(), 'credits', 'close', challengeId)
  expect(refused.code).toBe(1)
  expect(refused.errors.trim().split('\n')).toHaveLength(1)
  expect(refused.errors).toContain('set ADMIN_URL and ADMIN_TOKEN')
})

test('with ADMIN_URL the dashboard of the application is asked, also to change something', async () => {
  const elsewhere = { SVC_MANAGED_INFRA: 'none', DATA_DIR: join(folder, 'none') }
  const asked = { ...elsewhere, ADMIN_URL: `${origin}/office/`, ADMIN_TOKEN: TOKEN }
  const { document } = await json(asked, 'export')
  expect(document).toMatchObject([{ challengeId }])
  const closed = await json(asked, 'credits', 'close', challengeId)
  expect(closed.document).toMatchObject({ via: 'server', challengeId, granted: 10, spent: 0 })

  const wrong = await cliProcess({ ...asked, ADMIN_TOKEN: 'another-token-of-somebody' }, 'refunds', 'list')
  expect(wrong).toMatchObject({ code: 1, errors: expect.stringContaining('has another ADMIN_TOKEN') })
  const nowhere = await cliProcess({ ...asked, ADMIN_URL: origin }, 'refunds', 'list')
  expect(nowhere.errors).toContain(`ADMIN_URL is ${origin}, where no dashboard answers`)
  const without = await cliProcess({ ...elsewhere, ADMIN_URL: asked.ADMIN_URL }, 'refunds', 'list')
  expect(without.errors).toContain('ADMIN_URL is set, and ADMIN_TOKEN is not')
})

test.each([
  ['REDIS_URL', startRedis, (url: string) => ({ redisUrl: url })],
  ['DATABASE_URL', startPostgres, (url: string) => ({ databaseUrl: url })],
] as const)('%s alone is enough where the records are there', async (variable, start, options) => {
  const records = await start()
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const shop = await createGateway({
    ...options(records.url),
    walletAddress: seller.address,
    gasWalletPrivateKey: chain.account(2).privateKey,
    rpcUrl: chain.rpcUrl,
    secretKey: 'a secret key of more than thirty-two characters',
    baseUrl,
    tokenSecret: TOKEN_SECRET,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    pollIntervalMs: 50,
    onAlert: () => {},
  })
  const app = express().use(paystile(shop)).listen(port, '127.0.0.1')
  try {
    await once(app, 'listening')
    const { account } = await chain.newBuyer({ micro: 1_000_000n })
    const { grant } = await createBuyer({ account, maxAmount: '$1.00' }).buy(baseUrl, { planId: 'basic' })
    const elsewhere = { SVC_MANAGED_INFRA: 'none', DATA_DIR: join(folder, 'none'), [variable]: records.url }
    const { document } = await json(elsewhere, 'export')
    expect(document).toMatchObject([{ challengeId: grant.challengeId }])
    const acting = await cliProcess(elsewhere, 'refunds', 'retry', grant.challengeId)
    expect(acting).toMatchObject({ code: 1, errors: expect.stringContaining('set ADMIN_URL') })
  } finally {
    app.close().closeAllConnections()
    await shop.close()
    await records.stop()
  }
})
