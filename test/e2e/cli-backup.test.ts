import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { boot } from '../../src/server/boot.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
} from '../../src/testing/index.ts'
import { cliProcess } from './cli-terminal.ts'
import { answerOf, eventually, freePort, PRICE, TOKEN_SECRET } from './world.ts'

/** More than a buyer can spend while a backup is taken, however slow the machine. */
const HELD = 1000n * PRICE

interface Sale {
  buyer: DevAccount
  challengeId: string
  header: string
  token: string
}

let chain: DevChain
let folder: string
let dataDir: string
let baseUrl: string
let env: Record<string, string>
let server: { close(): Promise<void> } | undefined

beforeAll(async () => {
  chain = await startDevChain()
  folder = await mkdtemp(join(tmpdir(), 'paystile-backup-'))
  dataDir = join(folder, 'data')
  const port = await freePort()
  baseUrl = `http://127.0.0.1:${port}`
  env = {
    DATA_DIR: dataDir,
    PORT: String(port),
    BASE_URL: baseUrl,
    SVC_MANAGED_INFRA: 'none',
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    RPC_URL: chain.rpcUrl,
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    TOKEN_SECRET,
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    ADMIN_TOKEN: 'the-token-of-the-operator',
    POLL_INTERVAL_MS: '50',
  }
  await start()
})
afterAll(async () => {
  await server?.close()
  await chain.stop()
  await rm(folder, { recursive: true, force: true })
})

async function start(): Promise<void> {
  server = await boot({ ...env, LOG_LEVEL: 'silent' }, { print: () => {} })
}
async function stop(): Promise<void> {
  await server?.close()
  server = undefined
}
const paystile = (...argv: string[]) => cliProcess(env, ...argv)

const send = async (headers: Record<string, string>) =>
  fetch(`${baseUrl}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ planId: 'basic' }),
  })

/** The same payload again until the answer is no longer 503, as the 503 asks for. */
const pay = (header: string) =>
  eventually(async () => {
    const answer = await answerOf(await send({ 'payment-signature': header }))
    return answer.status === 503 ? undefined : answer
  })

async function sell(buyer: DevAccount): Promise<Sale> {
  const offer = await send({})
  const required = decodeJsonObject(offer.headers.get('payment-required')!) as unknown as PaymentRequired
  const accepted = required.accepts[0]!
  const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
  const header = paymentHeader({ accepted, ...signed })
  const { status, body } = await pay(header)
  expect({ status, body }).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
  return { buyer, challengeId: body.challengeId!, header, token: body.accessToken! }
}

test('a backup that is taken while sales are in flight is restored, and nobody pays twice', async () => {
  const buyers = await Promise.all([0, 1, 2].map(() => chain.newBuyer({ micro: HELD })))
  const file = join(folder, 'first.backup')
  const before = await Promise.all(buyers.map(sell))

  // Each buyer goes on buying, one after the other, until the backup is there; one sale more is made after it.
  let done = false
  const during: Sale[] = []
  const load = Promise.all(
    buyers.map(async (buyer) => {
      do during.push(await sell(buyer))
      while (!done)
    }),
  )
  const made = await paystile('backup', file, '--json').finally(() => {
    done = true
  })
  await load
  expect(made, made.output).toMatchObject({ code: 0, errors: '' })
  expect(JSON.parse(made.output)).toMatchObject({ via: 'server', files: ['secret-key'], secrets: true })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const after = await sell(buyers[0]!)
  const sales = [...before, ...during, after]
  const paidBy = (buyer: DevAccount) => sales.filter((sale) => sale.buyer === buyer).length
  const heldNow = () => Promise.all(buyers.map(({ address }) => chain.balanceOf(address)))
  const held = buyers.map((buyer) => HELD - BigInt(paidBy(buyer)) * PRICE)
  expect(await heldNow()).toEqual(held)

  const refused = await paystile('restore', file, '--force')
  expect(refused).toMatchObject({
    code: 1,
    errors: expect.stringContaining('is in use: stop the server first'),
  })
  await stop()
  const careful = await paystile('restore', file)
  expect(careful).toMatchObject({
    code: 1,
    errors: expect.stringContaining('--force replaces it and keeps it'),
  })
  const restored = await paystile('restore', file, '--force', '--json')
  expect(restored).toMatchObject({ code: 0, errors: '' })
  expect(JSON.parse(restored.output)).toMatchObject({ ok: true, missingKeys: [] })
  const names = await readdir(dataDir)
  expect(names.filter((name) => name.includes('before-restore'))).toHaveLength(1)
  expect(names.filter((name) => name.includes('restoring'))).toEqual([])

  await start()
  const stateOf = async ({ challengeId }: Sale) =>
    ((await (await fetch(`${baseUrl}/x402/challenges/${challengeId}`)).json()) as { state?: string }).state
  for (const sale of before) {
    expect(await stateOf(sale)).toBe('DELIVERED')
    const replay = await pay(sale.header)
    expect({ status: replay.status, token: replay.body.accessToken }).toEqual({
      status: 200,
      token: sale.token,
    })
  }
  // Those of the moment of the backup are known, or were claimed and are found on the chain, or are unknown.
  const unknown: Sale[] = []
  for (const sale of [...during, after]) {
    const replay = await pay(sale.header)
    if (replay.status === 200) expect(replay.body.challengeId).toBe(sale.challengeId)
    else {
      expect({ status: replay.status, code: replay.body.code }).toEqual({
        status: 409,
        code: 'TX_ALREADY_REDEEMED',
      })
      unknown.push(sale)
    }
  }
  expect(unknown).toContain(after)
  expect(await heldNow(), 'a replay charges nobody').toEqual(held)

  // The chain knows what the store forgot.
  await chain.mine(5)
  const compared = await paystile('reconcile', '--json')
  const { found } = JSON.parse(compared.output) as { found: Array<{ kind: string }> }
  expect(found.map(({ kind }) => kind)).toEqual(unknown.map(() => 'orphan-payment'))

  // The gas wallet goes on, although its last transactions are not in its records.
  const next = await sell(buyers[1]!)
  expect(await stateOf(next)).toBe('DELIVERED')
})

test('without a server the store itself is copied', async () => {
  await stop()
  const file = join(folder, 'second.backup')
  const made = await paystile('backup', file, '--without-secrets')
  expect(made).toMatchObject({ code: 0, errors: '' })
  expect(made.output).toContain('of a store that no server uses')
  expect(made.output).toContain('It holds no keys')
  const again = await paystile('backup', file)
  expect(again).toMatchObject({ code: 1, errors: expect.stringContaining('give a name that is not taken') })
  const elsewhere = { ...env, DATA_DIR: join(folder, 'elsewhere') }
  const restored = await cliProcess(elsewhere, 'restore', file)
  expect(restored.code).toBe(0)
  expect(restored.output).toContain('The key that sealed its results is not here')
})
