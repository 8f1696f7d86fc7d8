import { UptoEvmScheme } from '@x402/evm/upto/client'
import { encodeFunctionData, type Hex, maxUint256, pad } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import { PERMIT2_ADDRESS } from '../../src/protocol/permit2.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import { usdcAbi } from '../../src/testing/usdc-abi.ts'
import { type RoutesWorld, startRoutesWorld } from '../e2e/routes-world.ts'

const MAX = 20_000n
const VICTIMS = 3
/** What a node says of a gas wallet that is empty. */
const WORDS = 'insufficient funds for gas'
const routes = [
  { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
] as const

let shop: RoutesWorld
beforeAll(async () => {
  const options = { routes, settleWaitSeconds: 4, payerFailuresPerMinute: 5 }
  shop = await startRoutesWorld({ store: 'embedded', options })
})
afterAll(() => shop.stop())

/** Agrees to every signature; but while slot 0 is 1, Permit2 is answered with a revert in these words. */
function walletCode(): Hex {
  const text = Buffer.from(WORDS).toString('hex').padEnd(64, '0')
  const head = `3373${PERMIT2_ADDRESS.slice(2)}1460005416`
  const agree = '631626ba7e60e01b60005260206000f3'
  const target = (head.length + 6 + agree.length) / 2
  const byte = (value: number) => value.toString(16).padStart(2, '0')
  const revert = `5b6308c379a060e01b600052602060045260${byte(WORDS.length)}6024527f${text}60445260646000fd`
  return `0x${head}60${byte(target)}57${agree}${revert}`.toLowerCase() as Hex
}

async function newWallet(isHostile: boolean, micro = 0n) {
  const { chain } = shop.world
  const address = privateKeyToAddress(generatePrivateKey())
  await chain.client.setCode({ address, bytecode: walletCode() })
  const setHostile = (on: boolean) =>
    chain.client.setStorageAt({ address, index: pad('0x0'), value: pad(on ? '0x1' : '0x0') })
  await setHostile(isHostile)
  if (micro > 0n) {
    await chain.mint(address, micro)
    await chain.fundEth(address, 10n ** 18n)
    await chain.client.impersonateAccount({ address })
    const data = encodeFunctionData({
      ...{ abi: usdcAbi, functionName: 'approve', args: [PERMIT2_ADDRESS, maxUint256] },
    })
    const hash = await chain.client.sendTransaction({ account: address, to: chain.usdc, data })
    await chain.client.waitForTransactionReceipt({ hash })
  }
  return { setHostile, signer: { address, signTypedData: async () => `0x${'11'.repeat(65)}` as Hex } }
}

async function signAs(signer: ConstructorParameters<typeof UptoEvmScheme>[0]): Promise<string> {
  const { accepts } = await shop.termsOf('/chat', { method: 'POST' })
  const { payload } = await new UptoEvmScheme(signer).createPaymentPayload(2, accepts[0] as never)
  return encodeJson({ x402Version: 2, accepted: accepts[0], payload })
}

const send = (header: string) => shop.call('/chat', { method: 'POST' }, header)

test('attack 63: a wallet that answers in the words of our own troubles is refused, and limited like every failing payment', async () => {
  const { signer } = await newWallet(true)
  const header = await signAs(signer)
  const seen: number[] = []
  for (let index = 0; index < 10; index++) seen.push((await send(header)).status)
  expect(seen[0]).toBe(412)
  expect(seen).toContain(429)
  expect(seen).not.toContain(503)
  expect(shop.world.alerts).toEqual([])
})

test('attack 63: a wallet that changes its words after its call keeps no other charge from being settled', async () => {
  const { chain } = shop.world
  const hostile = await newWallet(false, 5n * MAX)
  const victims = await Promise.all(
    Array.from({ length: VICTIMS }, () => chain.newBuyer({ micro: 5n * MAX })),
  )
  for (const victim of victims) await approvePermit2(chain, victim)
  const own = await signAs(hostile.signer)
  const headers = await Promise.all(victims.map(({ account }) => signAs(account)))
  // Once all calls are being made the wallet changes, and then all are answered at the same moment.
  const waiting: Array<() => void> = []
  shop.backend.answer = (_call, response) => {
    const answer = () =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'settlement-overrides': '{"amount":"1858"}' })
        .end('{"text":"hello"}')
    waiting.push(answer)
    if (waiting.length === VICTIMS + 1)
      void hostile.setHostile(true).then(() => waiting.forEach((one) => void one()))
  }
  const [answers] = await Promise.all([Promise.all(headers.map(send)), send(own)])
  expect(answers.map(({ status }) => status)).toEqual(headers.map(() => 200))
}, 60_000)
