import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevAccount, usdcAbi } from '../../src/testing/index.ts'
import { collect, dataOf, payloadFor, type RpcAnswer, rawAgent, requiredOf } from '../e2e/a2a-agent.ts'
import { eventually, PRICE, startWorld, type World } from '../e2e/world.ts'
import { readCalldata, sendsOf } from './forge.ts'

let world: World
let agent: ReturnType<typeof rawAgent>
beforeAll(async () => {
  world = await startWorld({ options: { a2a: { streaming: true } } })
  agent = rawAgent(`${world.baseUrl}/a2a`)
})
afterAll(() => world.stop())

async function opened(requestId: string) {
  const { result } = await agent.ask({ planId: 'basic', requestId })
  return { id: result!.id, required: requiredOf(result)! }
}
const said = ({ result }: RpcAnswer) => ({
  state: result?.status.state,
  status: result?.metadata?.['x402.payment.status'],
  error: result?.metadata?.['x402.payment.error'],
})
const COMPLETED = { state: 'completed', status: 'payment-completed', error: undefined }
const holdsGrant = (answer: unknown) => /accessToken|AccessGrant"/.test(JSON.stringify(answer))

test('attack 13: knowledge of the task, the request and the calldata gives no grant over A2A', async () => {
  const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
  const { id, required } = await opened('victim')
  const paid = await agent.pay(await payloadFor(buyer, required))
  const grant = dataOf(paid.result)
  expect(grant?.type).toBe('AccessGrant')
  const books = await world.ledger(buyer)
  const stolen = await readCalldata(world, String(grant?.txHash))
  // The thief asks for the terms of the same request, and so has a salt: but not the one that was claimed.
  const seen = await agent.ask({ planId: 'basic', requestId: 'victim' })
  const own = requiredOf(seen.result)!.accepts[0]!
  const { salt: _salt, ...saltless } = required.accepts[0]!.extra
  const payload = { x402Version: 2, payload: stolen }
  const tries = [
    agent.pay({ ...payload, accepted: own }),
    agent.pay({ ...payload, accepted: own }, { taskId: id }),
    agent.pay(payload, { taskId: id }),
    agent.pay({ ...payload, accepted: { ...own, extra: saltless } }, { taskId: id }),
  ]
  for (const answer of await Promise.all(tries)) {
    expect(said(answer)).toMatchObject({ state: 'failed', error: 'DUPLICATE_NONCE' })
    expect(holdsGrant(answer)).toBe(false)
  }
  const looks = [
    seen,
    await agent.get(id),
    await agent.rpc('message/send', agent.message([], { taskId: id })),
    await collect(agent.stream('tasks/resubscribe', { id })),
    await collect(
      agent.stream('message/stream', agent.paying({ ...payload, accepted: own }, { taskId: id })),
    ),
  ]
  expect(looks.map(holdsGrant)).toEqual([false, false, false, false, false])
  expect(said(await agent.get(id))).toEqual(COMPLETED)
  expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
})

test('attack 38: of good and bad payments at once on one task the good one completes, and is what is stored', async () => {
  for (let round = 0; round < 3; round++) {
    const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
    const stranger = await world.chain.newBuyer({ micro: 2n * PRICE })
    const poor = await world.chain.newBuyer({ micro: 0n })
    const { id, required } = await opened(`crowd-${round}`)
    const good = await payloadFor(buyer, required)
    const forged = await payloadFor(stranger, required)
    const bent = { ...forged, payload: { ...(forged.payload as object), signature: `0x${'11'.repeat(65)}` } }
    const cheap = await payloadFor(buyer, required, { value: '1' })
    const broke = await payloadFor(poor, required)
    const sends = await sendsOf(world)
    const background = { ...agent.paying(bent), configuration: { blocking: false } }
    const [goodAnswer, stream, ...badAnswers] = await Promise.all([
      // A payer without money may hold the claim for a moment; a request that gets that answer tries again.
      eventually(async () => {
        const answer = await agent.pay(good)
        return said(answer).error !== 'INVALID_SIGNATURE' && answer
      }),
      collect(agent.stream('message/stream', agent.paying(bent))),
      agent.pay(bent),
      agent.pay(cheap),
      agent.pay(broke),
      agent.rpc('message/send', background),
    ])
    expect(said(goodAnswer)).toEqual(COMPLETED)
    expect(dataOf(goodAnswer.result)?.type).toBe('AccessGrant')
    expect([...badAnswers, stream].map(holdsGrant)).toEqual([false, false, false, false, false])
    expect(badAnswers.map((answer) => said(answer).status)).not.toContain('payment-completed')
    expect(JSON.stringify(stream)).not.toMatch(/payment-(verified|completed)/)
    expect(said(await agent.get(id))).toEqual(COMPLETED)
    expect(await world.status(id)).toMatchObject({
      state: 'DELIVERED',
      txHash: dataOf(goodAnswer.result)?.txHash,
    })
    expect(await sendsOf(world), 'nothing but the good one was sent').toBe(sends + 1)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    for (const other of [stranger, poor]) {
      expect(await world.flows(other)).toEqual({ paid: [], refunded: [] })
    }
  }
})

async function transfer(buyer: DevAccount): Promise<Hex> {
  const { chain } = world
  await chain.fundEth(buyer.address, 10n ** 18n)
  const hash = await chain.client.writeContract({
    account: buyer.account,
    chain: null,
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transfer',
    args: [world.seller.address, PRICE],
  })
  await chain.client.waitForTransactionReceipt({ hash })
  return hash
}

async function proof(
  signer: DevAccount,
  challengeId: string,
  txHash: Hex,
  text = `${challengeId}:${txHash}`,
) {
  const signature = await signer.account.signMessage({ message: text })
  return agent.message([{ kind: 'data', data: { type: 'PaymentProof', challengeId, txHash, signature } }])
}

test('attack 22: a transfer proves itself only by its sender, for a newer task, once', async () => {
  const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
  const thief = await world.chain.newBuyer({ micro: PRICE })
  const old = await transfer(buyer)
  const { blockNumber } = await world.chain.client.getTransactionReceipt({ hash: old })
  const { timestamp } = await world.chain.client.getBlock({ blockNumber })
  // The chain's clock counts whole seconds: the task must be of a later one.
  await eventually(() => Math.floor(Date.now() / 1000) > Number(timestamp))
  const { id } = await opened('by-transfer')
  const send = async (params: unknown) => agent.rpc('message/send', params)
  const refused = { state: 'input-required', status: 'payment-failed', error: 'INVALID_SIGNATURE' }
  expect(said(await send(await proof(buyer, id, old))), 'an old one').toEqual(refused)
  const txHash = await transfer(buyer)
  expect(said(await send(await proof(thief, id, txHash))), "a stranger's").toEqual(refused)
  const theirs = await opened('of-the-thief')
  expect(said(await send(await proof(thief, theirs.id, txHash))), "a stranger's task").toEqual(refused)
  const replayed = await proof(buyer, theirs.id, txHash, `${id}:${txHash}`)
  expect(said(await send(replayed)), 'a signature for another task').toEqual(refused)

  const paid = await send(await proof(buyer, id, txHash))
  expect(said(paid)).toEqual(COMPLETED)
  expect(dataOf(paid.result)).toMatchObject({ type: 'AccessGrant', txHash })
  expect(paid.result?.metadata?.['x402.payment.receipts']).toMatchObject([
    { success: true, transaction: txHash },
  ])
  const again = await send(await proof(buyer, id, txHash))
  expect(dataOf(again.result)).toEqual(dataOf(paid.result))
  const second = await send(await proof(buyer, theirs.id, txHash))
  expect(said(second), 'used already').toMatchObject({ state: 'failed', error: 'DUPLICATE_NONCE' })
  const stolen = await send(await proof(thief, id, txHash))
  expect(holdsGrant(stolen)).toBe(false)
  expect(said(await agent.get(id))).toEqual(COMPLETED)
  expect(await world.flows(thief)).toEqual({ paid: [], refunded: [] })
})

test('a seller may opt out of transfer hashes', async () => {
  await world.restart({ a2a: { transferProofs: false } })
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const { id } = await opened('opted-out')
  const answer = await agent.rpc('message/send', await proof(buyer, id, `0x${'1'.repeat(64)}`))
  expect(answer.error).toMatchObject({ code: -32602, message: expect.stringContaining('no transfer hashes') })
})

test('attack 44: payments of empty keys on one task are taken so often, and its answer stays small', async () => {
  const { id, required } = await opened('hammered')
  const broke = await Promise.all(Array.from({ length: 25 }, () => world.chain.newBuyer({ micro: 0n })))
  for (const key of broke) await agent.pay(await payloadFor(key, required), { taskId: id })
  const funded = await world.chain.newBuyer({ micro: PRICE })
  const refused = await agent.pay(await payloadFor(funded, required), { taskId: id })
  expect(said(refused)).toMatchObject({ state: 'failed', status: 'payment-failed' })
  expect(JSON.stringify(refused)).toMatch(
    /takes no more payments, .*nothing was charged.* ask for a new challenge/i,
  )
  expect(JSON.stringify(await agent.get(id)).length).toBeLessThan(32_768)
  expect(await world.flows(funded)).toEqual({ paid: [], refunded: [] })
  const again = await opened('hammered-no-more')
  expect(said(await agent.pay(await payloadFor(funded, again.required)))).toEqual(COMPLETED)
})
