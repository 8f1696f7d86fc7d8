import { afterAll, beforeAll, expect, test } from 'vitest'
import { findNetwork } from '../../src/protocol/networks.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { startBackend, type TestBackend } from '../e2e/routes-world.ts'
import { startWebhookReceiver } from '../e2e/webhook-receiver.ts'
import { closeVisitors, openVisitor } from './browser.ts'
import { injectWallet } from './injected-wallet.ts'
import { inspect, takePicture } from './looks.ts'
import { startStandalone } from './standalone.ts'

let chain: DevChain
let backend: TestBackend
beforeAll(async () => {
  ;[chain, backend] = await Promise.all([startDevChain(), startBackend()])
})
afterAll(async () => {
  await Promise.allSettled([closeVisitors(), backend?.stop(), chain?.stop()])
})

/** What a server on the local chain needs, and on a real one does not. */
const onChain = () => ({
  POLL_INTERVAL_MS: '50',
  RPC_URL: chain.rpcUrl,
  GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
})

test('a wallet, one thing to sell, live: and the seller buys it with test money and sees the sale', async () => {
  const server = await startStandalone(onChain())
  const { page, complaints, close } = await openVisitor()
  const buyer = await chain.newBuyer({ micro: 50_000n })
  const wallet = await injectWallet(page.context(), buyer, chain.rpcUrl)
  try {
    await page.goto(server.printedUrl())
    await page.getByRole('heading', { name: '2. One thing to sell' }).waitFor()
    await inspect(page, 'short-empty')
    await page.getByLabel('Wallet address').fill(chain.account(0).address)
    await page.getByLabel('Your API', { exact: true }).fill(backend.url)
    await page.getByLabel('Path').fill('/weather/:city')
    await page.getByLabel('Price per call').fill('a lot')
    await page.locator('#route-0-price-message').waitFor()
    await page.getByLabel('Price per call').fill('0.01')
    // The server runs on this machine alone, and says so before anybody relies on it.
    await page.locator('#field-base-url-message', { hasText: 'Only this machine can reach' }).waitFor()
    await page.getByText('Everything needed is there.').waitFor()
    await inspect(page, 'short-filled')
    await page.getByRole('button', { name: 'Save and go live' }).click()
    await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
    await page.getByText('Only this machine can reach it').waitFor()
    await inspect(page, 'live')

    const [shop] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Make a test purchase' }).click(),
    ])
    await page.getByText('Waiting for the sale…').waitFor()
    await shop.getByRole('button', { name: /^Pay with/ }).click()
    await shop.getByText('"sky": "clear"').waitFor()
    await page.getByText('Sold: weather for $0.01').waitFor()
    await inspect(page, 'live-sold')
    const faucet = page.getByRole('link', { name: 'faucet' })
    expect(await faucet.getAttribute('href')).toBe(findNetwork('testnet')!.faucets!.token)
    await page.getByRole('button', { name: 'Change the settings' }).click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    // It was not configured when the page was loaded, and is now.
    await page.getByRole('link', { name: 'Dashboard' }).click()
    await page.locator('.challenges tbody tr').first().click()
    await page.getByRole('dialog').getByText('Delivered').first().waitFor()
    expect(wallet.signed).toHaveLength(1)
    expect(await chain.balanceOf(buyer.address)).toBe(40_000n)
    expect(complaints).toEqual([])
  } finally {
    await close()
    await server.stop()
  }
})

test('access for an hour is as short, and what the short form lacks leads to all settings', async () => {
  const server = await startStandalone({ RPC_URL: chain.rpcUrl })
  const { page, close } = await openVisitor()
  const buyer = await chain.newBuyer({ micro: 2_000_000n })
  await injectWallet(page.context(), buyer, chain.rpcUrl)
  try {
    await page.goto(server.printedUrl())
    await page.getByRole('radio', { name: /Access for an hour/ }).check()
    await page.getByLabel('Wallet address').fill(chain.account(0).address)
    await page.getByLabel('Your API', { exact: true }).fill(backend.url)
    await page.getByLabel('Its name').fill('hourly')
    await page.getByLabel('Price', { exact: true }).fill('1.00')
    await page.getByRole('radio', { name: /Real USDC/ }).check()
    await page.getByText(/things? to do/).waitFor()
    await page.getByRole('button', { name: 'Save and go live' }).click()
    // Real money needs somebody who settles, which the short form does not ask for.
    await page.getByRole('heading', { name: 'Settlement' }).waitFor()
    expect(await page.getByLabel('Plan id').inputValue(), 'nothing typed is lost').toBe('hourly')
    await page.getByRole('radio', { name: /test money/ }).check()
    await page.getByLabel('My own gas wallet').check()
    await page.getByLabel('Private key of the gas wallet').fill(chain.account(1).privateKey)
    await page.getByText('Everything needed is there.').waitFor()
    await page.getByRole('button', { name: 'Save and go live' }).click()
    await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
    const [shop] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Make a test purchase' }).click(),
    ])
    await shop.getByRole('button', { name: /^Pay with/ }).click()
    await shop.getByRole('region', { name: 'What you bought' }).waitFor()
    await page.getByText('Sold: hourly for $1.00').waitFor()
  } finally {
    await close()
    await server.stop()
  }
})

test('saved webhooks are tested on the setup page, and told apart on one host', async () => {
  const receiver = await startWebhookReceiver()
  const { host } = new URL(receiver.url)
  const server = await startStandalone({
    ...onChain(),
    SVC_WALLET_ADDRESS: chain.account(0).address,
    PROXY_TO_BASE_URL: backend.url,
    ROUTES: '[{"routeId":"weather","method":"GET","path":"/weather","unitAmount":"$0.01"}]',
    WEBHOOK_URL: `${receiver.url},${receiver.url}?second`,
    WEBHOOK_SECRET: `${receiver.secret},${receiver.secret}`,
    WEBHOOK_ALLOW_HOSTS: host,
  })
  const { page, close } = await openVisitor()
  try {
    await page.goto(server.printedUrl())
    await page.getByRole('link', { name: 'Setup' }).click()
    await page.getByRole('button', { name: `Send a test to ${host} (1 of 2)` }).waitFor()
    const second = page.getByRole('button', { name: `Send a test to ${host} (2 of 2)` })
    await second.click()
    await page.getByText(/It answered 2\d\d/).waitFor()
    await second.scrollIntoViewIfNeeded()
    await takePicture(page, 'webhook-test-light')
  } finally {
    await close()
    await server.stop()
    await receiver.down()
  }
})
