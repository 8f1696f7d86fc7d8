import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Buyer, type BuyerError, createBuyer } from '../../src/buyer/index.ts'
import { boot } from '../../src/server/boot.ts'
import { openSqliteStore } from '../../src/stores/sql/sqlite.ts'
import { type DevAccount, type DevChain, startDevChain, usdcAbi } from '../../src/testing/index.ts'
import { cli, cliProcess } from './cli-terminal.ts'
import { eventually, freePort } from './world.ts'

const PLANS = '[{"planId":"basic","unitAmount":"$1.00"},{"planId":"broken","unitAmount":"$0.50"}]'

let chain: DevChain
let tokenApi: Server
let seller: DevAccount
let account: DevAccount
let buyer: Buyer
let folder: string
let dataDir: string
let baseUrl: string
let env: Record<string, string>
let server: { close(): Promise<void> } | undefined

beforeAll(async () => {
  chain = await startDevChain()
  tokenApi = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { planId } = JSON.parse(Buffer.concat(chunks).toString())
    response.writeHead(planId === 'broken' ? 400 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ token: 'a token of the seller' }))
  })
  await new Promise<void>((ready) => tokenApi.listen(0, '127.0.0.1', ready))
  seller = chain.account(0)
  account = await chain.newBuyer({ micro: 10_000_000n })
  buyer = createBuyer({ account: account.account, maxAmount: '$1.00' })
  folder = await mkdtemp(join(tmpdir(), 'paystile-cli-'))
  dataDir = join(folder, 'data')
  const port = await freePort()
  baseUrl = `http://127.0.0.1:${port}`
  env = { DATA_DIR: dataDir, PORT: String(port), SVC_MANAGED_INFRA: 'none' }
})
afterAll(async () => {
  await server?.close()
  await new Promise((closed) => tokenApi.close(closed))
  await chain.stop()
  await rm(folder, { recursive: true, force: true })
})

const startServer = async (more: Record<string, string> = {}): Promise<void> => {
  server = await boot({ ...env, LOG_LEVEL: 'silent', ...more }, { print: () => {} })
}
const stopServer = async (): Promise<void> => {
  await server?.close()
  server = undefined
}
const paystile = (...argv: string[]) => cliProcess(env, ...argv)
const paystileJson = async (...argv: string[]) => {
  const { code, output, errors } = await paystile(...argv, '--json')
  expect(errors, argv.join(' ')).toBe('')
  return { code, document: JSON.parse(output) }
}

/** Pays for what cannot be delivered. */
async function buyBroken(): Promise<string> {
  const failure = await buyer.buy(baseUrl, { planId: 'broken' }).then(
    () => undefined,
    (error: BuyerError) => error,
  )
  return failure!.statusUrl!.split('/').at(-1)!
}

test('init writes a configuration that serve runs by, and tells no secret', async () => {
  const { port } = tokenApi.address() as AddressInfo
  const secrets = {
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    ISSUE_TOKEN_API_SECRET: 'a secret of the token API',
    RPC_URL: chain.rpcUrl,
  }
  const flags = ['--wallet', seller.address, '--plans', PLANS, '--base-url', baseUrl, `--name=Books & Co`]
  const said = await cliProcess(
    { ...env, ...secrets, POLL_INTERVAL_MS: '50', REFUND_INTERVAL_SECONDS: '1' },
    ...['init', '--yes', '--token-api', `http://127.0.0.1:${port}/issue`, ...flags],
    ...['--resource-endpoint', 'https://api.example.com/v1/{resourceId}'],
  )
  expect(said).toMatchObject({ code: 0, errors: '' })
  expect(said.output).toContain('Generated, and only there: ADMIN_TOKEN.')
  expect(said.output).toContain('Refunds wait until REFUND_WALLET_PRIVATE_KEY is set')
  const file = join(dataDir, 'config.json')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const { version, values } = JSON.parse(await readFile(file, 'utf8'))
  expect(version).toBe(1)
  expect(values).toMatchObject({ ...secrets, SVC_WALLET_ADDRESS: seller.address, PLANS: JSON.parse(PLANS) })
  for (const secret of [...Object.values(secrets), values.ADMIN_TOKEN])
    expect(said.output).not.toContain(secret)

  await startServer()
  const { agentName } = (await (await fetch(`${baseUrl}/discover`)).json()) as { agentName: string }
  expect(agentName).toBe('Books & Co')
})

test('init --yes names every fault at once and writes nothing', async () => {
  const elsewhere = { ...env, DATA_DIR: join(folder, 'never') }
  const bad = await cliProcess(elsewhere, 'init', '--yes', '--wallet', '0x12', '--base-url', 'shop')
  expect(bad.code).toBe(1)
  for (const name of ['SVC_WALLET_ADDRESS has 2 hex digits', 'BASE_URL', 'PLANS'])
    expect(bad.errors).toContain(name)
  expect(bad.errors).toContain('Nothing was written.')
  await expect(stat(join(folder, 'never'))).rejects.toThrow()
  const json = await cliProcess(elsewhere, 'init', '--json', '--plans', '[{')
  expect(JSON.parse(json.output)).toEqual({
    ok: false,
    errors: [expect.stringMatching(/^--plans is no valid JSON/)],
  })
  const mute = await cliProcess(elsewhere, 'init')
  expect(mute).toMatchObject({ code: 1, errors: expect.stringContaining('this is no terminal: add --yes') })
})

let first: string
let second: string

test('a running server is asked through its API: refunds, export and reconcile', async () => {
  await buyer.buy(baseUrl, { planId: 'basic' })
  first = await buyBroken()
  second = await buyBroken()
  await chain.mine(5)

  const { code, document } = await paystileJson('refunds', 'list')
  expect(code).toBe(0)
  expect(document.via).toBe('server')
  expect(document.items.map((item: { challengeId: string }) => item.challengeId).sort()).toEqual(
    [first, second].sort(),
  )
  const shown = await cli(env, 'refunds', 'list')
  expect(shown.output).toMatch(new RegExp(`^${first}  REFUND_PENDING  \\$0\\.50 to 0x`, 'm'))
  expect(shown.output).toContain(`2 refunds wait, 0 of them for you (the server at ${baseUrl} was asked).`)

  const refused = await cli(env, 'refunds', 'retry', first)
  expect(refused.code).toBe(1)
  expect(refused.errors).toMatch(/no refund of it has failed/)
  expect((await cli(env, 'refunds', 'retry', 'http-unknown')).errors).toMatch(/No challenge http-unknown/)

  const csv = await paystile('export')
  expect(csv.output.trim().split('\r\n')).toHaveLength(4)
  const out = join(folder, 'sales.jsonl')
  const exported = await paystileJson('export', '--format', 'jsonl', '--out', out)
  expect(exported.document).toEqual({ via: 'server', out, format: 'jsonl', sales: 3 })
  const lines = (await readFile(out, 'utf8')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).priceUsd).sort()).toEqual(['0.50', '0.50', '1.00'])
  expect((await cli(env, 'export', '--json', '--from', '2999-01-01')).output).toBe('[]\n')

  const { document: compared } = await paystileJson('reconcile')
  expect(compared).toMatchObject({ ok: true, via: 'server', challenges: 3, refundsWaiting: 2, found: [] })
})

test('a server without the token cannot be asked, and its embedded store says so', async () => {
  const stranger = { ...env, ADMIN_TOKEN: 'a-token-of-somebody-else' }
  const wrong = await cliProcess(stranger, 'refunds', 'list')
  expect(wrong).toMatchObject({ code: 1, errors: expect.stringMatching(/has another ADMIN_TOKEN, or none/) })
  const lost = await cliProcess({ ...stranger, BASE_URL: 'http://127.0.0.1:9', PORT: '9' }, 'refunds', 'list')
  expect(lost, 'what only looks is read beside it').toMatchObject({ code: 0, errors: '' })
  expect(lost.output).toContain('2 refunds wait')
  const acting = await cliProcess(
    { ...stranger, BASE_URL: 'http://127.0.0.1:9', PORT: '9' },
    ...['refunds', 'retry', first],
  )
  expect(acting.code).toBe(1)
  expect(acting.errors).toMatch(/in use by another process.*\n.*set BASE_URL or PORT to where it answers/)
})

test('without a server the store itself is read, and a retry waits there for the next start', async () => {
  await stopServer()
  const store = openSqliteStore({ path: join(dataDir, 'paystile.db') })
  for (const id of [first, second]) {
    const [[row], [refund]] = await Promise.all([store.get('challenges', [id]), store.list('refunds', id)])
    await store.commit({
      puts: [
        { table: 'challenges', row: { ...row!, state: 'REFUND_FAILED', dueAt: null } },
        {
          table: 'refunds',
          row: { ...refund!, phase: 'FAILED', attempts: 5, reason: 'paused', dueAt: null },
        },
      ],
      audit: [
        {
          at: Date.now(),
          challengeId: id,
          requestId: row!.requestId,
          event: 'refund-failed',
          fromState: 'REFUND_PENDING',
          toState: 'REFUND_FAILED',
          actor: 'gateway',
        },
      ],
    })
  }
  await store.close()
  const listed = await paystile('refunds', 'list')
  expect(listed.output).toContain(`    paused\n    → paystile refunds retry ${first}`)
  expect(listed.output).toContain('2 refunds wait, 2 of them for you.')
  const compared = await paystileJson('reconcile')
  expect(compared.code, 'for cron').toBe(1)
  expect(compared.document.found.map(({ kind }: { kind: string }) => kind)).toEqual([
    'refund-missing',
    'refund-missing',
  ])

  const { code, document } = await paystileJson('refunds', 'retry', first)
  expect({ code, ...document }).toMatchObject({
    code: 0,
    via: 'store',
    challengeId: first,
    state: 'REFUND_PENDING',
  })
  const nobody = await cliProcess(
    { ...env, DATA_DIR: join(folder, 'typo'), BASE_URL: baseUrl },
    'refunds',
    'list',
  )
  expect(nobody.code).toBe(1)
})

test('the server pays what was retried, and what was paid by hand is resolved by its transaction', async () => {
  await startServer({ REFUND_WALLET_PRIVATE_KEY: seller.privateKey })
  const status = async (id: string) =>
    (await (await fetch(`${baseUrl}/x402/challenges/${id}`)).json()) as { state: string }
  await eventually(async () => {
    await chain.mine(1)
    return (await status(first)).state === 'REFUNDED'
  })
  const early = await paystile('refunds', 'resolve', second, '--tx', `0x${'0'.repeat(64)}`)
  expect(early).toMatchObject({ code: 1, errors: expect.stringMatching(/is in no block/) })
  const tx = await chain.client.writeContract({
    ...{ address: chain.usdc, abi: usdcAbi, functionName: 'transfer', args: [account.address, 500_000n] },
    ...{ account: seller.account, chain: null },
  })
  await chain.mine(5)
  const hint = await paystileJson('reconcile')
  expect(hint.document.found).toMatchObject([{ kind: 'refund-missing', challengeId: second }])
  expect(hint.document.found[0].fix).toContain(`paystile refunds resolve ${second} --tx ${tx}`)
  const { code, document } = await paystileJson('refunds', 'resolve', second, '--tx', tx)
  expect({ code, ...document }).toMatchObject({ code: 0, via: 'server', state: 'REFUNDED', refundTxHash: tx })
  expect((await cli(env, 'reconcile')).output).toMatch(/Chain and ledger agree\.\n$/)
  expect((await cli(env, 'refunds', 'list')).output).toMatch(/^No refund waits/)
})

test('init does not leave records behind unless told to', async () => {
  const argv = ['init', '--json', '--network', 'mainnet', '--facilitator', 'https://facilitator.example']
  const refused = await cliProcess(
    { ...env, GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey },
    'init',
    '--json',
    '--network',
    'mainnet',
  )
  expect(refused.code).toBe(1)
  expect(JSON.parse(refused.output).errors).toEqual([
    expect.stringMatching(/records of payments on eip155:84532/),
    expect.stringMatching(/Add --force/),
  ])
  const both = await cliProcess(env, ...argv)
  expect(JSON.parse(both.output).errors.join()).toMatch(
    /FACILITATOR_URL and GAS_WALLET_PRIVATE_KEY are both set/,
  )
})
