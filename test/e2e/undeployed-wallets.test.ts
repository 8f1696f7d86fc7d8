import { concat, encodeAbiParameters, getContractAddress, type Hex, numberToHex, size } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GatewayOptions } from '../../src/config/options.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import {
  type DevAccount,
  paymentPayload,
  signAuthorization,
  startFacilitator,
  type TestFacilitator,
} from '../../src/testing/index.ts'
import artifact from '../../src/testing/test-wallet-1271.json' with { type: 'json' }
import { type Answer, eventually, PRICE, startWorld, type World } from './world.ts'

/** Deploys whatever it is given, by CREATE2; every chain of anvil has it. */
const FACTORY: Hex = '0x4e59b44847b379578588920ca78fbf26c0b4956c'

let world: World
let facilitator: TestFacilitator
beforeAll(async () => {
  world = await startWorld()
  facilitator = await startFacilitator({ chain: world.chain, walletFactories: [FACTORY] })
})
afterAll(async () => {
  await facilitator.stop()
  await world.stop()
})

/** A smart wallet of `owner` with money and without code, and the call of its factory that deploys it. */
async function counterfactual(owner: DevAccount, micro = PRICE) {
  const code = artifact.deployedBytecode as Hex
  // Stores the owner, then leaves the code behind.
  const start = concat([
    `0x73${owner.address.slice(2)}`,
    '0x600055',
    '0x61',
    numberToHex(size(code), { size: 2 }),
  ])
  const init = concat([start, '0x806024600039', '0x6000f3', code])
  const salt = numberToHex(BigInt(owner.address), { size: 32 })
  const address = getContractAddress({ opcode: 'CREATE2', from: FACTORY, salt, bytecode: init })
  await world.chain.mint(address, micro)
  return { address, deploy: concat([salt, init]) }
}

const pay = async (...how: Parameters<typeof signWrapped>): Promise<Answer> =>
  world.pay(await signWrapped(...how))

/** The header of a payment whose signature would deploy the wallet. */
async function signWrapped(
  owner: DevAccount,
  wallet: { address: Hex; deploy: Hex },
  factory: Hex = FACTORY,
): Promise<string> {
  const required: PaymentRequired = await world.terms()
  const accepted = required.accepts[0]!
  const { authorization, signature } = await signAuthorization({
    account: owner.account,
    requirements: accepted,
    overrides: { from: wallet.address },
  })
  const shape = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }] as const
  const wrapped = encodeAbiParameters(shape, [factory, wallet.deploy, signature])
  const payload = paymentPayload({
    accepted,
    authorization,
    signature: `${wrapped}${'6492'.repeat(16)}`,
  })
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}

const isDeployed = async ({ address }: { address: Hex }) =>
  (await world.chain.client.getCode({ address })) !== undefined
const byFacilitator = (): Partial<GatewayOptions> => ({
  gasWalletPrivateKey: '',
  facilitatorUrl: facilitator.url,
})

test('without a list no factory is accepted, and nothing is sent', async () => {
  const owner = await world.chain.newBuyer()
  const wallet = await counterfactual(owner)
  const answer = await pay(owner, wallet)
  expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_PROOF' } })
  expect(answer.body.message).toContain(`EIP-6492 signatures of factory ${FACTORY} are not accepted`)
  expect(await isDeployed(wallet)).toBe(false)
})

test('a gas wallet never deploys a wallet, and takes its payment once it is deployed', async () => {
  await world.restart({ allowedWalletFactories: [FACTORY] })
  const owner = await world.chain.newBuyer()
  const wallet = await counterfactual(owner)
  const refused = await pay(owner, wallet)
  expect(refused).toMatchObject({ status: 400, body: { code: 'INVALID_PROOF' } })
  expect(refused.body.message).toContain(`deploy the wallet ${wallet.address.toLowerCase()} first`)
  expect(await isDeployed(wallet)).toBe(false)
  const sender = world.chain.account(7).address
  await world.chain.client.sendTransaction({ account: sender, to: FACTORY, data: wallet.deploy, chain: null })
  await eventually(() => isDeployed(wallet))
  const stranger = await world.chain.newBuyer()
  expect(await pay(stranger, wallet)).toMatchObject({ status: 400, body: { code: 'INVALID_PROOF' } })
  // Stored without its wrapper; the very same payload is still recognised, and charged once.
  const header = await signWrapped(owner, wallet)
  const first = await world.pay(header)
  expect(first).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
  const again = await world.pay(header)
  expect(again).toMatchObject({ status: 200, body: first.body })
  expect([first, again].map(({ headers }) => headers.get('x-svc-code'))).toEqual([
    null,
    'PROOF_ALREADY_REDEEMED',
  ])
  expect(await world.flows(wallet)).toEqual({ paid: [PRICE], refunded: [] })
})

test('a facilitator deploys a wallet of a factory on the list, and no other', async () => {
  const other: Hex = `0x${'be'.repeat(20)}`
  await world.restart({ ...byFacilitator(), allowedWalletFactories: [FACTORY, other] })
  const owner = await world.chain.newBuyer()
  const wallet = await counterfactual(owner)
  const stranger = await world.chain.newBuyer()
  const settled = facilitator.calls.settle
  expect(await pay(stranger, wallet), 'signed by somebody else').toMatchObject({ status: 400 })
  expect(await pay(owner, wallet, other), 'a factory that makes nothing').toMatchObject({ status: 400 })
  const poor = await world.chain.newBuyer()
  expect(await pay(poor, await counterfactual(poor, 1n)), 'without the money').toMatchObject({ status: 402 })
  expect(facilitator.calls.settle).toBe(settled)
  expect(await pay(owner, wallet)).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
  expect(await isDeployed(wallet)).toBe(true)
  expect(await world.flows(wallet)).toEqual({ paid: [PRICE], refunded: [] })
})
