import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevAccount, TestWallet, WalletMode } from '../../src/testing/index.ts'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { headerOf, sendsOf, signedPayload } from './forge.ts'

const OTHERS = 8

let world: World
beforeAll(async () => {
  world = await startWorld({ options: { settleWaitSeconds: 5 } })
})
afterAll(() => world.stop())

async function newWallet(): Promise<{ owner: DevAccount; wallet: TestWallet }> {
  const owner = await world.chain.newBuyer()
  const wallet = await world.chain.deployWallet1271(owner.address)
  await world.chain.mint(wallet.address, 5n * PRICE)
  return { owner, wallet }
}

const signFor = async ({ owner, wallet }: { owner: DevAccount; wallet: TestWallet }) => {
  const required = await world.terms()
  return headerOf(await signedPayload(owner, required.accepts[0]!, { from: wallet.address }))
}

/** Transactions of the gas wallet that failed in the blocks after this one. */
async function revertedSince(start: bigint) {
  const { client } = world.chain
  const gasWallet = world.chain.account(1).address.toLowerCase()
  const failed = []
  for (let number = start + 1n; number <= (await client.getBlockNumber()); number++) {
    for (const hash of (await client.getBlock({ blockNumber: number })).transactions) {
      const receipt = await client.getTransactionReceipt({ hash })
      if (receipt.from.toLowerCase() === gasWallet && receipt.status === 'reverted') failed.push(receipt)
    }
  }
  return failed
}

test.each<WalletMode>(['refuses', 'burns-gas'])(
  'attack 21: a wallet that %s after the check fails alone; everybody beside it is served',
  async (mode) => {
    const hostile = await newWallet()
    const honest = await newWallet()
    const buyers = await Promise.all(
      Array.from({ length: OTHERS }, () => world.chain.newBuyer({ micro: PRICE })),
    )
    const books = await world.ledger(hostile.wallet, honest.wallet, ...buyers)
    const start = await world.chain.client.getBlockNumber()
    const headers = await Promise.all([
      signFor(hostile),
      signFor(honest),
      ...buyers.map(async (buyer) => world.sign(buyer, (await world.terms()).accepts[0]!)),
    ])
    const sends = await sendsOf(world)
    await world.chain.setAutomine(false)
    const answers = Promise.all(headers.map((header) => world.pay(header)))
    // Two smart wallets, each alone, and at least one transaction of the others.
    while ((await sendsOf(world)) < sends + 3) await new Promise((turn) => setTimeout(turn, 25))
    await hostile.wallet.setMode(mode)
    await world.chain.setAutomine(true)
    await world.chain.mine()

    const [attacker, ...served] = await answers
    expect(attacker).toMatchObject({ status: 402, body: { code: 'PAYMENT_FAILED' } })
    expect(served.map(({ status }) => status)).toEqual(served.map(() => 200))
    expect(await books.changes()).toEqual({
      seller: BigInt(OTHERS + 1) * PRICE,
      buyers: [0n, -PRICE, ...buyers.map(() => -PRICE)],
    })
    const reverted = await revertedSince(start)
    expect(reverted).toHaveLength(1)
    expect(reverted[0]!.gasUsed, 'all that one wallet can burn').toBeLessThanOrEqual(300_000n)
  },
)

test.each<WalletMode>(['refuses', 'burns-gas'])(
  'attack 21: a wallet that %s from the start is refused and costs no gas',
  async (mode) => {
    const hostile = await newWallet()
    const header = await signFor(hostile)
    await hostile.wallet.setMode(mode)
    const sends = await sendsOf(world)
    expect(await world.pay(header)).toMatchObject({ status: 400, body: { code: 'INVALID_PROOF' } })
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.flows(hostile.wallet)).toEqual({ paid: [], refunded: [] })
  },
)

test('attack 21: a wallet that refuses where it sees a gas price is refused by the check, and costs no gas', async () => {
  const hostile = await newWallet()
  const header = await signFor(hostile)
  await hostile.wallet.setMode('refuses-on-chain')
  const sends = await sendsOf(world)
  expect(await world.pay(header)).toMatchObject({ status: 402, body: { code: 'PAYMENT_FAILED' } })
  expect(await sendsOf(world)).toBe(sends)
})
