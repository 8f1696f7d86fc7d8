import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, PRICE, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ remote: {} })
})
afterAll(() => world.stop())

const FAR = 1_000_000_000
/** The latest block, with these many blocks and seconds added. */
const inTheFuture =
  (blocks: number, seconds: number) => (method: string, params: readonly unknown[], result: unknown) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'latest') return result
    const block = result as { number: string; timestamp: string }
    const add = (quantity: string, more: number) => `0x${(Number(quantity) + more).toString(16)}`
    return {
      ...block,
      number: add(block.number, blocks),
      timestamp: add(block.timestamp, seconds),
      hash: `0x${'f'.repeat(64)}`,
    }
  }

async function buys(): Promise<number> {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  return (await world.buy(buyer)).status
}
const ready = async () => (await fetch(`${world.baseUrl}/ready`)).status
const toldSince = (before: number) =>
  world.alerts.slice(before).filter(({ kind }) => kind === 'chain-inconsistent').length

test.each([
  ['its number', FAR, 0],
  ['its time', 0, FAR],
  ['number and time', FAR, FAR],
])(
  'one answer with a latest block that is wrong in %s stops no sale, and is told',
  async (_, blocks, seconds) => {
    expect(await buys()).toBe(200)
    const before = world.alerts.length
    const lie = inTheFuture(blocks, seconds)
    const once: typeof lie = (method, params, result) => {
      const told = lie(method, params, result)
      if (told !== result) world.remote!.lie = undefined
      return told
    }
    // Nobody's purchase is needed to meet it. Where it met a question about fees, nobody noticed: it is told once more.
    await eventually(async () => {
      world.remote!.lie ??= once
      await ready()
      return toldSince(before) > 0
    })
    world.remote!.lie = undefined
    expect(await buys()).toBe(200)
    expect(await eventually(async () => (await ready()) === 200)).toBe(true)
  },
)

test('while every answer is wrong nothing is sold and /ready is 503; when it ends, sales go on without a restart', async () => {
  const before = world.alerts.length
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const header = await world.sign(buyer, (await world.terms()).accepts[0]!)
  world.remote!.lie = inTheFuture(FAR, 0)
  expect(await world.pay(header)).toMatchObject({ status: 503 })
  expect(await eventually(async () => (await ready()) === 503)).toBe(true)
  expect(toldSince(before)).toBeGreaterThan(0)
  world.remote!.lie = undefined
  expect(await world.payUntilDecided(header)).toMatchObject({ status: 200 })
  expect(await eventually(async () => (await ready()) === 200)).toBe(true)
})
