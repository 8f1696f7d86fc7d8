import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { type Assistant, newFolder, startAssistant } from './bridge-client.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'

let shop: RoutesWorld
let base: string
let buyer: DevAccount
let folder: Awaited<ReturnType<typeof newFolder>>
const assistants: Assistant[] = []
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { mcp: { routes: true } } })
  base = shop.world.baseUrl
})
afterAll(() => shop.stop())
beforeEach(async () => {
  buyer = await shop.world.chain.newBuyer({ micro: 1_000_000n })
  folder = await newFolder()
  shop.backend.answer = sunny
})
afterEach(async () => {
  await Promise.allSettled(assistants.splice(0).map((one) => one.close()))
  await folder.remove()
})

async function start(url: string): Promise<Assistant> {
  const one = await startAssistant([url], { buyer, ledger: folder.path })
  assistants.push(one)
  return one
}
const spent = async () => 1_000_000n - (await shop.world.chain.balanceOf(buyer.address))
const signed = async () => (await readdir(join(folder.path, 'payments')).catch(() => [])).length

test.each([
  ['a route', () => base],
  ['a tool of an MCP server', () => `${base}/mcp`],
])(
  '%s: killed between signature and answer, it is finished with the same payment, and its answer waits',
  async (_name, url) => {
    const { chain } = shop.world
    await chain.setAutomine(false)
    const first = await start(url())
    const lost = first.call('weather', { city: 'Oslo' }).catch((error: Error) => error)
    await expect.poll(async () => (await chain.client.getTxpoolStatus()).pending).toBe(1)
    await first.kill()
    expect(await lost).toBeInstanceOf(Error)
    expect(await signed()).toBe(1)
    const second = await start(url())
    // The first can still land: the same call waits for it, and signs nothing.
    const answer = second.call('weather', { city: 'Oslo' })
    await expect
      .poll(() => second.errors())
      .toContain('was begun before; it is finished with the same payment')
    await chain.setAutomine(true)
    await chain.mine(1)
    const { text, all, isError } = await answer
    expect(isError).toBe(false)
    expect(JSON.parse(text)).toMatchObject({ resource: { body: { url: '/weather/Oslo' } } })
    expect(all).toContain('had not reached you. It cost nothing now')
    expect(await spent()).toBe(CALL_PRICE)
    expect(await second.spending()).toMatchObject({
      spentToday: '$0.01',
      payments: [{ state: 'paid' }],
      unfinished: [],
      answersWaiting: [],
    })
    expect(await signed()).toBe(0)
    expect((await second.call('weather', { city: 'Oslo' })).all).not.toContain('had not reached you')
    expect(await spent()).toBe(2n * CALL_PRICE)
  },
)

test('what was finished while nobody asked waits until somebody does', async () => {
  const { chain } = shop.world
  await chain.setAutomine(false)
  const first = await start(base)
  void first.call('weather', { city: 'Rome' }).catch(() => {})
  await expect.poll(async () => (await chain.client.getTxpoolStatus()).pending).toBe(1)
  await first.kill()
  await chain.setAutomine(true)
  await chain.mine(1)
  const second = await start(base)
  await expect
    .poll(async () => (await second.spending()).answersWaiting)
    .toMatchObject([{ for: expect.stringContaining('/weather/Rome') }])
  expect(await spent()).toBe(CALL_PRICE)
  expect((await second.call('weather', { city: 'Rome' })).isError).toBe(false)
  expect(await spent()).toBe(CALL_PRICE)
})

test('a budget counts what was signed before a crash and may still land', async () => {
  const { chain } = shop.world
  const flags = ['--max-amount', '$0.01', '--max-total', '$0.01']
  await chain.setAutomine(false)
  const first = await startAssistant([base], { buyer, ledger: folder.path, flags })
  void first.call('weather', { city: 'Rome' }).catch(() => {})
  await expect.poll(async () => (await chain.client.getTxpoolStatus()).pending).toBe(1)
  await first.kill()
  const second = await startAssistant([base], { buyer, ledger: folder.path, flags })
  assistants.push(second)
  expect((await second.call('weather', { city: 'Paris' })).text).toContain('today’s budget')
  await chain.setAutomine(true)
  await chain.mine(1)
  await second.call('weather', { city: 'Rome' })
  expect(await spent()).toBe(CALL_PRICE)
})
