import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/errors.ts'
import { createGateway } from '../../src/gateway.ts'
import { startDevChain } from '../../src/testing/index.ts'
import type { RpcProxy } from './rpc-proxy.ts'
import { eventually, PRICE, type Strategy, startWorld, TOKEN_SECRET, type World } from './world.ts'

const PENDING = { status: 503, body: { code: 'SETTLEMENT_PENDING', retryable: true } }

/** An answer may be a few seconds old. */
const untilReadyIs = (status: number, { baseUrl }: World) =>
  eventually(async () => (await fetch(`${baseUrl}/ready`)).status === status)

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])('the RPC goes away, by %s', (strategy) => {
  let world: World
  let proxy: RpcProxy
  beforeAll(async () => {
    world = await startWorld({ strategy, options: { settleWaitSeconds: 1 }, proxied: true })
    proxy = world.proxy!
  })
  afterAll(() => world.stop())

  test.sequential('before a payment: 402s go on, the payment waits and is not charged, and the same payload works later', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    await untilReadyIs(200, world)
    proxy.cut()
    const required = await world.terms({ planId: 'basic', requestId: 'cut' })
    const header = await world.sign(buyer, required.accepts[0]!)
    const refused = await world.pay(header)
    expect(refused).toMatchObject(PENDING)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await untilReadyIs(503, world)
    expect(await world.status(required.challengeId)).toMatchObject({ state: 'PENDING' })
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })

    proxy.mend()
    const granted = await world.payUntilDecided(header)
    expect(granted).toMatchObject({ status: 200, body: { requestId: 'cut' } })
    await untilReadyIs(200, world)
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test.sequential('while a payment is in flight: nothing is decided; back again, it is delivered for one transfer', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    const required = await world.terms()
    const header = await world.sign(buyer, required.accepts[0]!)
    await world.chain.setAutomine(false)
    expect(await world.pay(header)).toMatchObject(PENDING)
    proxy.cut()
    await world.chain.setAutomine(true)
    await world.chain.mine()
    expect(await world.pay(header)).toMatchObject(PENDING)
    expect(await world.status(required.challengeId)).toMatchObject({ state: 'PENDING' })
    proxy.mend()
    await world.until(required.challengeId, 'DELIVERED')
    expect(await world.pay(header)).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test.sequential('at boot: the gateway starts, says so, is not ready, and sells once the RPC is there', async () => {
    proxy.cut()
    await world.restart()
    expect(world.alerts.at(-1)).toMatchObject({ kind: 'chain-unreachable' })
    await untilReadyIs(503, world)
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const header = await world.sign(buyer, (await world.terms()).accepts[0]!)
    expect(await world.pay(header)).toMatchObject(PENDING)
    proxy.mend()
    const granted = await world.payUntilDecided(header)
    expect(granted.status).toBe(200)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})

describe('an empty gas wallet', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.stop())

  test('is reported before anything is claimed; nothing is charged; once filled, the same payload works', async () => {
    const gasWallet = world.chain.account(1).address
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const books = await world.ledger(buyer)
    await world.chain.fundEth(gasWallet, 1n)
    const body = { planId: 'basic', requestId: 'no-gas' }
    const required = await world.terms(body)
    const header = await world.sign(buyer, required.accepts[0]!)
    const refused = await world.pay(header, body)
    expect(refused).toMatchObject(PENDING)
    expect(refused.body.message).toMatch(/gas wallet is empty.*Nothing was charged/)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const alert = world.alerts.find(({ kind }) => kind === 'gas-wallet-empty')
    expect(alert?.message).toContain(gasWallet.toLowerCase())
    expect((await world.access(body)).status, 'no claim holds the challenge').toBe(402)
    await untilReadyIs(503, world)
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })

    await world.chain.fundEth(gasWallet, 10n ** 18n)
    const granted = await world.payUntilDecided(header, body)
    expect(granted).toMatchObject({ status: 200, body: { challengeId: required.challengeId } })
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })
})

test('an RPC of another chain is refused at boot, in one clear line', async () => {
  const chain = await startDevChain({ chainId: 8453 })
  try {
    const started = createGateway({
      walletAddress: chain.account(0).address,
      network: 'testnet',
      rpcUrl: chain.rpcUrl,
      plans: [{ planId: 'basic', unitAmount: '$1.00' }],
      tokenSecret: TOKEN_SECRET,
      store: 'memory',
    })
    const error = await started.catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ConfigError)
    const { faults } = error as ConfigError
    expect(faults[0]).toMatch(/rpcUrl.*8453.*eip155:84532/)
    for (const fault of faults) expect(fault).not.toContain('\n')
  } finally {
    await chain.stop()
  }
})
