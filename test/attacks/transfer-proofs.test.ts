import { randomBytes, randomUUID } from 'node:crypto'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevAccount, MULTICALL3_ADDRESS, usdcAbi } from '../../src/testing/index.ts'
import { dataOf, type RpcAnswer, rawAgent } from '../e2e/a2a-agent.ts'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { type CountingRpc, startCountingRpc } from './counting-rpc.ts'

const PER_MINUTE = 20
const PER_CHALLENGE = 10
/** The latest block, the transaction's receipt and its block. */
const CALLS_PER_TRANSACTION = 3
/** What the gateway asks meanwhile for itself. */
const OWN_CALLS = 10
const multicallAbi = parseAbi([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) payable returns ((bool success, bytes returnData)[])',
])

let world: World
let rpc: CountingRpc
let agent: ReturnType<typeof rawAgent>
beforeAll(async () => {
  world = await startWorld({ store: 'embedded', options: { settleWaitSeconds: 5 } })
  rpc = await startCountingRpc(world.chain.rpcUrl)
})
afterAll(async () => {
  await world.stop()
  await rpc.stop()
})

/** Counts are kept in memory: each test starts with none. */
async function restart(limits: { rateLimitPerMinute: number; payerFailuresPerMinute: number }) {
  await world.restart({ rpcUrl: rpc.url, ...limits })
  agent = rawAgent(`${world.baseUrl}/a2a`)
}

async function openTask(): Promise<string> {
  const { result } = await agent.ask({ planId: 'basic', requestId: randomUUID() })
  return result!.id
}

async function send(sender: DevAccount, to: Hex, data: Hex): Promise<Hex> {
  const { chain } = world
  await chain.fundEth(sender.address, 10n ** 18n)
  const hash = await chain.client.sendTransaction({ account: sender.account, chain: null, to, data })
  await chain.client.waitForTransactionReceipt({ hash })
  return hash
}

async function transfer(sender: DevAccount): Promise<Hex> {
  const args = [world.seller.address, PRICE] as const
  return send(sender, world.chain.usdc, encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args }))
}

/** One transaction with the least possible transfer to the seller from each of so many senders. */
async function dustOf(count: number): Promise<Hex> {
  const { chain, seller } = world
  const senders = await Promise.all(Array.from({ length: count }, () => chain.newBuyer({ micro: 1n })))
  const approve = encodeFunctionData({
    ...{ abi: usdcAbi, functionName: 'approve' },
    args: [MULTICALL3_ADDRESS, 1n],
  })
  for (const sender of senders) await send(sender, chain.usdc, approve)
  const calls = senders.map(({ address }) => ({
    ...{ target: chain.usdc, allowFailure: false },
    callData: encodeFunctionData({
      ...{ abi: usdcAbi, functionName: 'transferFrom' },
      args: [address, seller.address, 1n],
    }),
  }))
  const data = encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [calls] })
  return send(senders[0]!, MULTICALL3_ADDRESS, data)
}

async function proofOf(signer: DevAccount, challengeId: string, txHash: Hex) {
  const signature = await signer.account.signMessage({ message: `${challengeId}:${txHash}` })
  return { type: 'PaymentProof', challengeId, txHash, signature }
}

type Proof = Awaited<ReturnType<typeof proofOf>>
const prove = (data: Proof) => agent.rpc('message/send', agent.message([{ kind: 'data', data }]))
/** The ways to write the same message: 0.3, its spelling for data that is no object, and 1.0. */
const SPELLINGS: Array<(proof: Proof) => Promise<RpcAnswer>> = [
  prove,
  (value) => {
    const metadata = { data_part_compat: true }
    return agent.rpc('message/send', agent.message([{ kind: 'data', data: { value }, metadata }]))
  },
  (data) => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data }] }
    return agent.rpc('SendMessage', { message })
  },
]
const times = <T>(count: number, ask: (turn: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, turn) => ask(turn)))
const errorOf = ({ result }: RpcAnswer) => result?.metadata?.['x402.payment.error']

test('attack 61: no wallet is asked about transfers of another amount', async () => {
  await restart({ rateLimitPerMinute: 0, payerFailuresPerMinute: 0 })
  const attacker = await world.chain.newBuyer()
  const id = await openTask()
  const proof = await proofOf(attacker, id, await dustOf(8))
  const calls = await rpc.callsOf(async () => {
    const answers = await times(20, () => prove(proof))
    expect(new Set(answers.map(errorOf))).toEqual(new Set(['INVALID_AMOUNT']))
  })
  expect(calls).toBeLessThanOrEqual(20 * CALLS_PER_TRANSACTION + OWN_CALLS)
})

test('attack 61: so many proofs of one challenge reach the chain in a minute, wherever they come from', async () => {
  await restart({ rateLimitPerMinute: 0, payerFailuresPerMinute: PER_CHALLENGE })
  const stranger = await world.chain.newBuyer({ micro: PRICE })
  const thief = await world.chain.newBuyer()
  const id = await openTask()
  const proof = await proofOf(thief, id, await transfer(stranger))
  const calls = await rpc.callsOf(async () => {
    const errors = (await times(5 * PER_CHALLENGE, () => prove(proof))).map(errorOf)
    expect(errors.filter((error) => error === 'INVALID_SIGNATURE')).toHaveLength(PER_CHALLENGE)
    expect(errors.filter((error) => error === 'RATE_LIMITED')).toHaveLength(4 * PER_CHALLENGE)
  })
  expect(calls).toBeLessThanOrEqual(PER_CHALLENGE * (CALLS_PER_TRANSACTION + 1) + OWN_CALLS)
})

test.each([0, 1, 2])(
  'attack 61: proofs that come to nothing are counted like payments that do, in spelling %i',
  async (spelling) => {
    await restart({ rateLimitPerMinute: PER_MINUTE, payerFailuresPerMinute: 0 })
    const attacker = await world.chain.newBuyer()
    const id = await openTask()
    const flood = async () => {
      const txHash: Hex = `0x${randomBytes(32).toString('hex')}`
      return SPELLINGS[spelling]!(await proofOf(attacker, id, txHash))
    }
    const calls = await rpc.callsOf(async () => {
      const statuses = (await times(3 * PER_MINUTE, flood)).map(({ httpStatus }) => httpStatus)
      expect(statuses.filter((status) => status === 429)).toHaveLength(2 * PER_MINUTE)
    })
    expect(calls, 'they were understood').toBeGreaterThanOrEqual(PER_MINUTE)
    expect(calls).toBeLessThanOrEqual(PER_MINUTE * CALLS_PER_TRANSACTION + OWN_CALLS)
    expect((await agent.get(id)).httpStatus, 'unpaid requests are counted apart').toBe(200)
  },
)

test("a transfer is proven whatever its neighbours ask, and uses nothing of their payments' limit up", async () => {
  await restart({ rateLimitPerMinute: PER_MINUTE, payerFailuresPerMinute: 0 })
  const ids = await times(5, openTask)
  const flood = await times(2 * PER_MINUTE, () => agent.get('nothing'))
  expect(flood.map(({ httpStatus }) => httpStatus)).toContain(429)
  for (const id of ids) {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const paid = await prove(await proofOf(buyer, id, await transfer(buyer)))
    expect(dataOf(paid.result)).toMatchObject({ type: 'AccessGrant' })
  }
  const attacker = await world.chain.newBuyer()
  const failing = await times(2 * PER_MINUTE, async () => {
    return prove(await proofOf(attacker, ids[0]!, `0x${randomBytes(32).toString('hex')}`))
  })
  expect(failing.filter(({ httpStatus }) => httpStatus === 200)).toHaveLength(PER_MINUTE)
})
