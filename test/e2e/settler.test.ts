import { afterAll, beforeAll, expect, test } from 'vitest'
import { SETTLER } from '../../src/chain/settler.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { decodePacked } from '../settlement/decode-packed.ts'
import { PRICE, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ settler: true, store: 'embedded', options: { settleWaitSeconds: 2 } })
})
afterAll(() => world.stop())

const newBuyers = (count: number): Promise<DevAccount[]> =>
  Promise.all(Array.from({ length: count }, () => world.chain.newBuyer({ micro: PRICE })))

/** Terms and a signature for each of these buyers. */
const prepare = (buyers: readonly DevAccount[]) =>
  Promise.all(
    buyers.map(async (buyer) => {
      const { accepts, challengeId } = await world.terms()
      return { challengeId, header: await world.sign(buyer, accepts[0]!) }
    }),
  )

/** The payers of every batch that the settler contract was sent after this block. */
async function batchesSince(block: bigint): Promise<string[][]> {
  const batches: string[][] = []
  const last = await world.chain.client.getBlockNumber({ cacheTime: 0 })
  for (let blockNumber = block + 1n; blockNumber <= last; blockNumber++) {
    const { transactions } = await world.chain.client.getBlock({ blockNumber, includeTransactions: true })
    for (const { to, input } of transactions) {
      if (to?.toLowerCase() === SETTLER) batches.push(decodePacked(input)!.auths.map(({ from }) => from))
    }
  }
  return batches
}

const here = () => world.chain.client.getBlockNumber({ cacheTime: 0 })

test('buyers who pay at once are settled by the settler contract, each charged once', async () => {
  const buyers = await newBuyers(12)
  const [books, from, paying] = [await world.ledger(...buyers), await here(), await prepare(buyers)]
  const answers = await Promise.all(paying.map(({ header }) => world.payUntilDecided(header)))
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200))
  expect(await books.changes()).toEqual({ seller: 12n * PRICE, buyers: Array(12).fill(-PRICE) })
  const batches = await batchesSince(from)
  expect(batches.length).toBeGreaterThan(0)
  const known = new Set(buyers.map(({ address }) => address.toLowerCase()))
  expect(batches.flat().every((payer) => known.has(payer))).toBe(true)
})

test('a batch that was sent before a restart, and mined after it, is delivered to all but who cannot pay any more', async () => {
  const buyers = await newBuyers(6)
  const [books, from, paying] = [await world.ledger(...buyers), await here(), await prepare(buyers)]
  await world.chain.setAutomine(false)
  const pending = await Promise.all(paying.map(({ header }) => world.pay(header)))
  expect(pending.map(({ body }) => body.code)).toEqual(Array(6).fill('SETTLEMENT_PENDING'))
  await world.restart()
  // In the next block, and before the batch: the fee is higher.
  const poor = buyers[2]!
  await world.chain.fundEth(poor.address, 10n ** 18n)
  await world.chain.client.sendTransaction({
    account: poor.account,
    to: world.chain.usdc,
    data: `0xa9059cbb${'de'.repeat(20).padStart(64, '0')}${PRICE.toString(16).padStart(64, '0')}`,
    gas: 100_000n,
    maxPriorityFeePerGas: 10n ** 12n,
    maxFeePerGas: 10n ** 12n,
  })
  await world.chain.mine()
  await world.chain.setAutomine(true)
  const answers = await Promise.all(paying.map(({ header }) => world.payUntilDecided(header)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 402, 200, 200, 200])
  expect(await books.changes()).toEqual({ seller: 5n * PRICE, buyers: Array(6).fill(-PRICE) })
  for (const { address } of buyers) {
    expect((await world.flows({ address })).paid).toEqual(address === poor.address ? [] : [PRICE])
  }
  expect(Math.max(...(await batchesSince(from)).map((payers) => payers.length))).toBeGreaterThan(1)
})
