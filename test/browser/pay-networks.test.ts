import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevChain } from '../../src/testing/index.ts'
import { startBackend, type TestBackend } from '../e2e/routes-world.ts'
import { eventually } from '../e2e/world.ts'
import { flowsOn, PRICE, type Shop, shopEnv, startChains, startShop } from '../networks/shop.ts'
import { closeVisitors, expectAccessible, openVisitor } from './browser.ts'
import { injectWallet } from './injected-wallet.ts'
import { takePicture } from './looks.ts'

let chains: DevChain[]
let backend: TestBackend
let shop: Shop
beforeAll(async () => {
  chains = await startChains(84_532, 421_614)
  backend = await startBackend()
  const report = { routeId: 'report', method: 'GET', path: '/report', unitAmount: '$1.00' }
  const more = { ROUTES: JSON.stringify([report]), PROXY_TO_BASE_URL: backend.url }
  shop = await startShop(shopEnv(chains, more))
})
afterAll(async () => {
  await closeVisitors()
  await shop?.stop()
  await backend?.stop()
  await Promise.all((chains ?? []).map((chain) => chain.stop()))
})

test('of several networks the person chooses one, and pays there alone', async () => {
  const [base, arbitrum] = chains as [DevChain, DevChain]
  const buyer = await arbitrum.newBuyer({ micro: PRICE })
  const { page, complaints, close } = await openVisitor()
  const wallet = await injectWallet(page, buyer, arbitrum.rpcUrl)
  wallet.known.add(421_614)
  await eventually(async () => {
    await page.goto(`${shop.url}/report`)
    return (await page.locator('.price').textContent())?.includes('USDC on Base Sepolia or Arbitrum Sepolia')
  })
  await page.getByLabel('Arbitrum Sepolia').check()
  await expectAccessible(page, 'the choice of networks')
  await takePicture(page, 'pay-networks-light')
  await page.getByRole('button', { name: 'Pay with Test Wallet' }).click()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.chainId).toBe(421_614)
  expect(await flowsOn(arbitrum, buyer)).toEqual({ paid: PRICE, back: 0n })
  expect(await flowsOn(base, buyer)).toEqual({ paid: 0n, back: 0n })
  const link = await page.getByRole('link', { name: 'transaction' }).getAttribute('href')
  expect(link).toMatch(/^https:\/\/sepolia\.arbiscan\.io\/tx\/0x/)
  expect(complaints).toEqual([])
  await close()
})
