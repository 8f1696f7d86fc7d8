import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevAccount, TestWallet } from '../../src/testing/index.ts'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { headerOf, sendsOf, signedPayload } from './forge.ts'

const AT_ONCE = 25
/** What one payer may make our wallets lose in a day. */
const PAYER_GAS = 1_500_000n

let world: World
beforeAll(async () => {
  world = await startWorld({ store: 'embedded', options: { settleWaitSeconds: 3 } })
})
afterAll(() => world.stop())

async function hostileWallet(): Promise<{ owner: DevAccount; wallet: TestWallet }> {
  const owner = await world.chain.newBuyer()
  const wallet = await world.chain.deployWallet1271(owner.address)
  await world.chain.mint(wallet.address, 1000n * PRICE)
  return { owner, wallet }
}

/** Gas that failed transactions of the gas wallet cost in the blocks after this one. */
async function gasLostSince(start: bigint): Promise<bigint> {
  const { client } = world.chain
  const gasWallet = world.chain.account(1).address.toLowerCase()
  let lost = 0n
  for (let number = start + 1n; number <= (await client.getBlockNumber({ cacheTime: 0 })); number++) {
    for (const hash of (await client.getBlock({ blockNumber: number })).transactions) {
      const receipt = await client.getTransactionReceipt({ hash })
      if (receipt.from.toLowerCase() === gasWallet && receipt.status === 'reverted') lost += receipt.gasUsed
    }
  }
  return lost
}

/** Makes many concurrent payments with a wallet that passes the simulation, and burns the gas in the next block. */
async function burst({ owner, wallet }: { owner: DevAccount; wallet: TestWallet }) {
  const headers = await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const { accepts } = await world.terms()
      return headerOf(await signedPayload(owner, accepts[0]!, { from: wallet.address }))
    }),
  )
  await world.chain.setAutomine(false)
  await wallet.setMode('burns-later')
  const before = await sendsOf(world)
  let isAnswered = false
  const answers = Promise.all(headers.map((header) => world.pay(header))).finally(() => {
    isAnswered = true
  })
  // Until nothing more is sent: whatever is let through before the block burns in it. On a busy machine the first comes late.
  for (let sends = before, now = before; !isAnswered && (now === before || now !== sends); ) {
    await new Promise((turn) => setTimeout(turn, 1_000))
    sends = now
    now = await sendsOf(world)
  }
  await world.chain.setAutomine(true)
  await world.chain.mine()
  // 503: on a busy machine the block comes after the time that a request waits for it; 400 or 402: it comes before the look.
  return (await answers).map(({ status, body }) =>
    [400, 402, 429, 503].includes(status) ? status : `${status} ${JSON.stringify(body)}`,
  )
}

test('attack 39: concurrent payments of a wallet that burns gas lose no more than its budget, and others are served', async () => {
  const hostile = await hostileWallet()
  const books = await world.ledger(hostile.wallet)
  const start = await world.chain.client.getBlockNumber()
  const first = await burst(hostile)
  expect(first.filter((status) => typeof status !== 'number')).toEqual([])
  expect(first).not.toEqual(Array(AT_ONCE).fill(429))
  // On a busy machine it takes more than one further burst until nothing of it is left.
  let later = await burst(hostile)
  for (let more = 0; more < 3 && later.some((status) => status !== 429); more++) later = await burst(hostile)
  expect(later, 'its budget is used up').toEqual(Array(AT_ONCE).fill(429))
  const lost = await gasLostSince(start)
  expect(lost).toBeGreaterThan(0n)
  expect(lost).toBeLessThanOrEqual(PAYER_GAS)
  if (!world.apart) {
    expect(world.alerts.filter(({ kind }) => kind === 'gas-wasted')).toMatchObject([
      { message: expect.stringContaining(hostile.wallet.address.toLowerCase()) },
    ])
  }

  // The budget is in the store: a new life of the gateway does not start with a new one.
  await world.restart()
  expect(await burst(hostile)).toEqual(Array(AT_ONCE).fill(429))
  expect(await gasLostSince(start)).toBe(lost)
  expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })

  const honest = await hostileWallet()
  const { accepts } = await world.terms()
  const paid = await world.pay(
    headerOf(await signedPayload(honest.owner, accepts[0]!, { from: honest.wallet.address })),
  )
  expect(paid.status, 'another smart wallet').toBe(200)
  const plain = await world.chain.newBuyer({ micro: PRICE })
  expect((await world.buy(plain)).status, 'a plain account').toBe(200)
}, 120_000)
