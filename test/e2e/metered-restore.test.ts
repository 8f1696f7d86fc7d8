import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { parseAbi } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeJsonObject, encodeJson } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { PERMIT2_ADDRESS } from '../../src/protocol/permit2.ts'
import { boot } from '../../src/server/boot.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { usdcAbi } from '../../src/testing/usdc-abi.ts'
import { cli } from './cli-terminal.ts'
import { PROXY_SECRET, startBackend, type TestBackend } from './routes-world.ts'
import { type Answer, answerOf, freePort, TOKEN_SECRET } from './world.ts'

const HELD = 100_000n
const CHARGE = 1858n

let chain: DevChain
let backend: TestBackend
let folder: string
let env: Record<string, string>
let server: { close(): Promise<void> } | undefined

beforeAll(async () => {
  chain = await startDevChain()
  backend = await startBackend()
  folder = await mkdtemp(join(tmpdir(), 'paystile-metered-'))
  const port = await freePort()
  env = {
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    SVC_MANAGED_INFRA: 'none',
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    RPC_URL: chain.rpcUrl,
    ROUTES: '[{"routeId":"chat","method":"POST","path":"/chat","scheme":"upto","maxAmount":"$0.02"}]',
    PROXY_TO_BASE_URL: backend.url,
    PROXY_SECRET,
    TOKEN_SECRET,
    ADMIN_TOKEN: 'the-token-of-the-operator',
    POLL_INTERVAL_MS: '50',
    SETTLE_WAIT_SECONDS: '3',
  }
  // So that there is a final block: what is searched for is above it.
  await chain.mine(100)
  await start()
})
afterAll(async () => {
  await server?.close()
  await backend.stop()
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

const call = async (payment?: string) =>
  answerOf(
    await fetch(`${env.BASE_URL}/chat`, {
      method: 'POST',
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    }),
  )

/** The same payload again until the answer is no longer 503, as the 503 asks for; asked more often, the address is limited. */
async function payUntilDecided(header: string): Promise<Answer> {
  for (;;) {
    const answer = await call(header)
    if (answer.status !== 503) return answer
    await pause(250)
  }
}

test('a charge that was settled after the backup is found on the chain after the restore, and answered', async () => {
  const buyer = await chain.newBuyer({ micro: HELD })
  await approvePermit2(chain, buyer)
  backend.answer = async (_call, response) => {
    await approvePermit2(chain, buyer, 0n)
    response
      .writeHead(200, {
        'content-type': 'application/json',
        'settlement-overrides': `{"amount":"${CHARGE}"}`,
      })
      .end('{"text":"hello"}')
  }
  const offered = decodeJsonObject((await call()).headers.get('payment-required')!)
  const { accepts } = offered as unknown as PaymentRequired
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  const header = encodeJson({ x402Version: 2, accepted: accepts[0], payload })
  expect(await call(header)).toMatchObject({ status: 503 })

  const file = join(folder, 'charged.backup')
  expect(await cli(env, 'backup', file)).toMatchObject({ code: 0 })
  await approvePermit2(chain, buyer, HELD)
  const first = await payUntilDecided(header)
  expect(first).toMatchObject({ status: 200, body: { resource: { body: { text: 'hello' } } } })
  await stop()
  expect(await cli(env, 'restore', file, '--force')).toMatchObject({ code: 0 })

  await start()
  const again = await payUntilDecided(header)
  expect(again).toMatchObject({ status: 200, body: { resource: { body: { text: 'hello' } } } })
  expect(again.receipt).toMatchObject({ success: true, transaction: first.receipt!.transaction })
  expect(await chain.balanceOf(buyer.address)).toBe(HELD - CHARGE)
  expect(backend.seen).toHaveLength(1)
}, 60_000)

test('a nonce that its payer gave up after the call moved no money, and says so once that is final', async () => {
  const buyer = await chain.newBuyer({ micro: HELD })
  await approvePermit2(chain, buyer)
  const offered = decodeJsonObject((await call()).headers.get('payment-required')!)
  const { accepts } = offered as unknown as PaymentRequired
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  const { nonce } = (payload as unknown as { permit2Authorization: { nonce: string } }).permit2Authorization
  backend.answer = async (_call, response) => {
    const hash = await chain.client.writeContract({
      account: buyer.account,
      address: PERMIT2_ADDRESS,
      abi: parseAbi(['function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)']),
      functionName: 'invalidateUnorderedNonces',
      args: [BigInt(nonce) >> 8n, 1n << (BigInt(nonce) & 255n)],
    })
    await chain.client.waitForTransactionReceipt({ hash })
    // Money of the payer that this permit did not move.
    await chain.client.writeContract({
      account: buyer.account,
      address: chain.usdc,
      abi: usdcAbi,
      functionName: 'transfer',
      args: [chain.account(0).address, CHARGE],
    })
    response.writeHead(200, { 'settlement-overrides': `{"amount":"${CHARGE}"}` }).end('{}')
  }
  const header = encodeJson({ x402Version: 2, accepted: accepts[0], payload })
  expect(await call(header)).toMatchObject({ status: 503, body: { code: 'SETTLEMENT_PENDING' } })
  // The next search begins at once after a start, and finds a final block past the deadline.
  await stop()
  await chain.increaseTime(3600)
  await chain.mine(100)
  await start()
  expect(await payUntilDecided(header)).toMatchObject({ status: 402, body: { code: 'PAYMENT_FAILED' } })
}, 60_000)
