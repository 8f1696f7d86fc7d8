import type { Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GatewayOptions } from '../../src/config/options.ts'
import { paymentRequired } from '../../src/dialects/x402/render-offer.ts'
import type { Intent, Outcome } from '../../src/engine/outcome.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { type DevAccount, usdcAbi } from '../../src/testing/index.ts'
import { dataOf, rawAgent, requiredOf } from './a2a-agent.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ store: 'embedded' })
})
afterAll(() => world.stop())

let count = 0
async function open(more: Partial<Intent> = {}): Promise<PaymentRequired> {
  const requestId = `proof-${++count}`
  const outcome = await world.gateway.purchase({ transport: 'a2a', planId: 'basic', requestId, ...more })
  if (outcome.kind !== 'challenge') throw new Error(JSON.stringify(outcome))
  return paymentRequired(outcome.offer, world.baseUrl)
}

async function transfer(buyer: DevAccount, value = PRICE, to = world.seller.address): Promise<Hex> {
  const { chain } = world
  await chain.fundEth(buyer.address, 10n ** 18n)
  const hash = await chain.client.writeContract({
    account: buyer.account,
    chain: null,
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transfer',
    args: [to, value],
  })
  await chain.client.waitForTransactionReceipt({ hash })
  return hash
}

async function prove(challengeId: string, txHash: Hex, signer: DevAccount, text?: string): Promise<Outcome> {
  const signature = await signer.account.signMessage({ message: text ?? `${challengeId}:${txHash}` })
  return world.gateway.purchase({ transport: 'a2a', challengeId, proof: { txHash, signature } })
}

const codeOf = (outcome: Outcome) => (outcome.kind === 'failed' ? outcome.error.code : outcome.kind)

test('a plain transfer, proven by its sender, buys; the same proof again gives the same grant', async () => {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const { challengeId } = await open()
  const txHash = await transfer(buyer)
  const first = await prove(challengeId, txHash, buyer)
  expect(first).toMatchObject({ kind: 'granted', cached: false, grant: { txHash, challengeId } })
  const again = await prove(challengeId, txHash, buyer)
  expect(again).toMatchObject({ kind: 'granted', cached: true })
  expect(again.kind === 'granted' && again.grant).toEqual(first.kind === 'granted' && first.grant)
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test('20 proofs of one transfer at once record it once', async () => {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const { challengeId } = await open()
  const txHash = await transfer(buyer)
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => prove(challengeId, txHash, buyer)))
  expect(new Set(outcomes.map(codeOf))).toEqual(new Set(['granted']))
})

test("attack 22: a stranger's transfer, an old one and a used one prove nothing", async () => {
  const buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
  const thief = await world.chain.newBuyer({ micro: PRICE })
  const old = await transfer(buyer)
  const { blockNumber } = await world.chain.client.getTransactionReceipt({ hash: old })
  const { timestamp } = await world.chain.client.getBlock({ blockNumber })
  // The chain's clock counts whole seconds: the challenge must be of a later one.
  await eventually(() => Math.floor(Date.now() / 1000) > Number(timestamp))
  const mine = await open()
  expect(codeOf(await prove(mine.challengeId, old, buyer)), 'older than the challenge').toBe('INVALID_PROOF')
  const txHash = await transfer(buyer)
  expect(codeOf(await prove(mine.challengeId, txHash, thief)), 'signed by a stranger').toBe('INVALID_PROOF')
  const theirs = await open()
  expect(codeOf(await prove(theirs.challengeId, txHash, buyer, `${mine.challengeId}:${txHash}`))).toBe(
    'INVALID_PROOF',
  )
  expect(codeOf(await prove(mine.challengeId, txHash, buyer))).toBe('granted')
  expect(codeOf(await prove(theirs.challengeId, txHash, buyer)), 'used already').toBe('TX_ALREADY_REDEEMED')
  expect(codeOf(await prove(mine.challengeId, txHash, thief))).toBe('INVALID_PROOF')
})

test('amount and destination must fit, and a transaction that is not mined is pending', async () => {
  const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
  const { challengeId } = await open()
  expect(codeOf(await prove(challengeId, await transfer(buyer, PRICE - 1n), buyer))).toBe('AMOUNT_MISMATCH')
  const elsewhere = await transfer(buyer, PRICE, world.chain.account(7).address)
  expect(codeOf(await prove(challengeId, elsewhere, buyer))).toBe('INVALID_PROOF')
  expect(codeOf(await prove(challengeId, `0x${'ab'.repeat(32)}`, buyer))).toBe('SETTLEMENT_PENDING')
  expect(codeOf(await prove(`a2a-${'x'.repeat(46)}`, elsewhere, buyer))).toBe('CHALLENGE_NOT_FOUND')
  expect(await world.status(challengeId)).toMatchObject({ state: 'PENDING' })
})

test('a proof of a wrong amount is told the terms, which can be paid in another way', async () => {
  const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
  const { challengeId } = await open()
  const txHash = await transfer(buyer, PRICE - 1n)
  const signature = await buyer.account.signMessage({ message: `${challengeId}:${txHash}` })
  const agent = rawAgent(`${world.baseUrl}/a2a`)
  const data = { type: 'PaymentProof', challengeId, txHash, signature }
  const { result } = await agent.rpc('message/send', agent.message([{ kind: 'data', data }]))
  expect(result?.metadata?.['x402.payment.error']).toBe('INVALID_AMOUNT')
  expect(requiredOf(result)?.challengeId).toBe(challengeId)
})

test('over A2A a good transfer with a badly signed proof gets no terms, by which its client would pay again', async () => {
  const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
  const { challengeId } = await open()
  const txHash = await transfer(buyer)
  const agent = rawAgent(`${world.baseUrl}/a2a`)
  const send = async (message: string) => {
    const signature = await buyer.account.signMessage({ message })
    const data = { type: 'PaymentProof', challengeId, txHash, signature }
    return (await agent.rpc('message/send', agent.message([{ kind: 'data', data }]))).result
  }
  const refused = await send(txHash)
  expect(refused?.metadata?.['x402.payment.error']).toBe('INVALID_SIGNATURE')
  expect(requiredOf(refused)).toBeUndefined()
  expect((await send(`${challengeId}:${txHash}`))?.status.state).toBe('completed')
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test('a second wallet is told that its transfer for a paid challenge goes back', async () => {
  const [buyer, other] = [
    await world.chain.newBuyer({ micro: PRICE }),
    await world.chain.newBuyer({ micro: PRICE }),
  ]
  const { challengeId } = await open()
  expect(codeOf(await prove(challengeId, await transfer(buyer), buyer))).toBe('granted')
  const txHash = await transfer(other)
  for (const which of ['first', 'again']) {
    expect(await prove(challengeId, txHash, other), which).toMatchObject({
      error: {
        code: 'INVALID_PROOF',
        message: expect.stringContaining('Your transfer goes back to its sender'),
      },
    })
  }
  await eventually(async () => {
    await world.chain.mine(1)
    return (await world.flows(other)).refunded.length === 1
  })
})

test('the transfer of an authorization is no plain transfer: it cannot pay a second challenge', async () => {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const { body } = await world.buy(buyer)
  const { challengeId } = await open()
  expect(codeOf(await prove(challengeId, body.txHash as Hex, buyer))).toBe('INVALID_PROOF')
})

test('a second transfer for one challenge is refunded, and one for a cancelled challenge too', async () => {
  const buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
  const paid = await open()
  expect(codeOf(await prove(paid.challengeId, await transfer(buyer), buyer))).toBe('granted')
  expect(codeOf(await prove(paid.challengeId, await transfer(buyer), buyer)), 'the result is theirs').toBe(
    'granted',
  )
  const closed = await open()
  await world.gateway.cancel(closed.challengeId, 'buyer')
  expect(codeOf(await prove(closed.challengeId, await transfer(buyer), buyer))).toBe('DELIVERY_FAILED')
  await world.until(closed.challengeId, 'REFUNDED')
  await eventually(async () => {
    await world.chain.mine(1)
    return (await world.flows(buyer)).refunded.length === 2
  })
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE, PRICE, PRICE], refunded: [PRICE, PRICE] })
})

test('a payer who bought by transfer fetches the grant by a new authorization, which is not sent', async () => {
  const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
  const required = await open()
  const txHash = await transfer(buyer)
  expect(codeOf(await prove(required.challengeId, txHash, buyer))).toBe('granted')
  const header = await world.sign(buyer, required.accepts[0]!)
  expect(await world.pay(header)).toMatchObject({ status: 200, body: { txHash } })
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})

test('a transfer whose offer is not stored any more is paid back to a buyer who repeats the offer', async () => {
  const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
  await world.restart({ challengeTtlSeconds: 1 })
  const { challengeId, accepts } = await open()
  const { requestId } = accepts[0]!.extra
  const txHash = await transfer(buyer)
  const { inspect } = world.gateway.backstage
  await eventually(async () => (await inspect(challengeId)) === undefined)
  // Price and wallet have changed since: what counts is what the id proves, and what was paid at that time.
  await world.restart({
    challengeTtlSeconds: 1,
    walletAddress: world.chain.account(7).address,
    plans: [{ planId: 'basic', unitAmount: '$7' }],
  })

  const signature = await buyer.account.signMessage({ message: `${challengeId}:${txHash}` })
  const proof = { type: 'PaymentProof', challengeId, txHash, signature }
  const agent = rawAgent(`${world.baseUrl}/a2a`)
  const send = async (...parts: object[]) => {
    const { result } = await agent.rpc(
      'message/send',
      agent.message(parts.map((data) => ({ kind: 'data', data }))),
    )
    return dataOf(result) as { code: string; hint: string }
  }
  const alone = await send(proof)
  expect(alone.code).toBe('CHALLENGE_NOT_FOUND')
  expect(alone.hint).toContain('do not pay again: send the proof with an AccessRequest that repeats')
  const wrong = await send(proof, { type: 'AccessRequest', planId: 'basic', requestId: 'another' })
  expect(wrong.code, 'the id does not prove this requestId').toBe('CHALLENGE_NOT_FOUND')
  const repeated = { type: 'AccessRequest', planId: 'basic', requestId }
  const answers = await Promise.all(Array.from({ length: 5 }, () => send(proof, repeated)))
  const codes = answers.map(({ code }) => code)
  expect(codes, 'the first to record it').toContain('DELIVERY_FAILED')
  expect(codes.filter((code) => code !== 'DELIVERY_FAILED' && code !== 'CHALLENGE_REFUNDED')).toEqual([])
  await world.until(challengeId, 'REFUNDED')
  expect((await send(proof)).code, 'the record stays').toBe('CHALLENGE_REFUNDED')
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [PRICE] })
})

test('a transfer for an offer that the store lost buys, if the buyer repeats the offer in time', async () => {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const options: Partial<GatewayOptions> = {
    challengeTtlSeconds: 900,
    plans: [{ planId: 'basic', unitAmount: '$1' }],
    store: 'memory',
    secretKey: '5'.repeat(64),
  }
  await world.restart(options)
  const { challengeId, accepts } = await open()
  const { requestId } = accepts[0]!.extra
  const txHash = await transfer(buyer)
  await world.restart(options)
  const signature = await buyer.account.signMessage({ message: `${challengeId}:${txHash}` })
  const prove = () =>
    world.gateway.purchase({
      transport: 'a2a',
      planId: 'basic',
      requestId: String(requestId),
      challengeId,
      proof: { txHash, signature },
    })
  const outcomes = await Promise.all(Array.from({ length: 5 }, prove))
  expect(new Set(outcomes.map(codeOf))).toEqual(new Set(['granted']))
  expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
})
