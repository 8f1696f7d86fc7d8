import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeConfigFile } from '../../src/config/config-file.ts'
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
import { answerOf, eventually, freePort, PRICE } from './world.ts'

let chain: DevChain
let folder: string
let baseUrl: string
let env: Record<string, string>
let server: { close(): Promise<void> } | undefined

beforeAll(async () => {
  chain = await startDevChain()
  folder = await mkdtemp(join(tmpdir(), 'paystile-rotation-'))
  const port = await freePort()
  baseUrl = `http://127.0.0.1:${port}`
  env = { DATA_DIR: join(folder, 'data'), PORT: String(port), SVC_MANAGED_INFRA: 'none' }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeConfigFile(env.DATA_DIR!, {
    BASE_URL: baseUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    RPC_URL: chain.rpcUrl,
    PLANS: [{ planId: 'basic', unitAmount: '$1.00' }],
    TOKEN_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    ADMIN_TOKEN: 'the-token-of-the-operator',
    POLL_INTERVAL_MS: '50',
  })
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

const send = (headers: Record<string, string> = {}) =>
  fetch(`${baseUrl}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ planId: 'basic' }),
  })

/** Asks for an offer and signs it, without sending the payment. */
async function signOffer(buyer: DevAccount): Promise<string> {
  const offer = await send()
  const required = decodeJsonObject(offer.headers.get('payment-required')!) as unknown as PaymentRequired
  const accepted = required.accepts[0]!
  const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
  return paymentHeader({ accepted, ...signed })
}

const pay = (header: string) =>
  eventually(async () => {
    const answer = await answerOf(await send({ 'payment-signature': header }))
    return answer.status === 503 ? undefined : answer
  })

test('tokens, open offers and sales from before a rotation are good after it', async () => {
  const buyer = await chain.newBuyer({ micro: 5n * PRICE })
  const sold = await signOffer(buyer)
  const before = await pay(sold)
  expect(before.status).toBe(200)
  const open = await signOffer(buyer)

  for (const name of ['SVC_SECRET_KEY', 'TOKEN_PRIVATE_KEY', 'ADMIN_TOKEN']) {
    const rotated = await cliProcess(env, 'keys', 'rotate', name)
    expect(rotated, rotated.errors).toMatchObject({ code: 0 })
  }
  await server?.close()
  await start()

  const paid = await pay(open)
  expect(paid.status, 'an offer that was signed before').toBe(200)
  const again = await pay(sold)
  expect(again).toMatchObject({ status: 200, body: { challengeId: before.body.challengeId } })
  expect(await chain.balanceOf(buyer.address), 'two purchases, two charges').toBe(3n * PRICE)

  const published = createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`))
  const kidOf = async (token: string) => (await jwtVerify(token, published)).protectedHeader.kid
  const [older, newer] = [await kidOf(before.body.accessToken!), await kidOf(paid.body.accessToken!)]
  expect(newer).not.toBe(older)

  const withToken = (token: string) =>
    fetch(`${baseUrl}/admin/api/refunds`, { headers: { authorization: `Bearer ${token}` } })
  expect((await withToken('the-token-of-the-operator')).status).toBe(401)
  const listed = await cliProcess(env, 'refunds', 'list')
  expect(listed, 'the command reads the new one').toMatchObject({ code: 0 })
})
