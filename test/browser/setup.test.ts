import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import {
  closeVisitors,
  expectAccessible,
  expectNoSidewaysScroll,
  openVisitor,
  PHONE,
  showAllSettings,
} from './browser.ts'
import { type Standalone, startStandalone } from './standalone.ts'

let chain: DevChain
let server: Standalone

beforeAll(async () => {
  ;[chain, server] = await Promise.all([startDevChain(), startStandalone({ POLL_INTERVAL_MS: '50' })])
})
afterAll(async () => {
  await Promise.allSettled([closeVisitors(), server?.stop(), chain?.stop()])
})

test('from the first start to a sale: redirect, login, a mistake at its field, save, restart, the sale appears', async () => {
  const visitor = await openVisitor()
  const { page } = visitor

  // First boot: every page leads to the setup, which shows the login and nothing else.
  await page.goto(server.url)
  expect(new URL(page.url()).pathname).toBe('/setup')
  await page.getByLabel('Token').fill('a token that somebody guessed')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('This token is not right').waitFor()
  expect(await page.getByLabel('Wallet address').count()).toBe(0)
  await expectAccessible(page, 'login')

  // The printed address logs in, and the token does not stay in the address bar.
  await page.goto(server.printedUrl())
  await page.getByRole('heading', { name: 'Start selling' }).waitFor()
  expect(page.url()).toBe(`${server.url}/setup`)
  await showAllSettings(page)

  // What the environment sets is shown with the reason, and cannot be edited.
  const publicAddress = page.getByLabel('Public address')
  expect(await publicAddress.inputValue()).toBe(server.url)
  expect(await publicAddress.isEditable()).toBe(false)

  // Mistakes appear at their fields, from the server, while typing.
  const wallet = page.getByLabel('Wallet address')
  const address = chain.account(0).address
  await page.getByLabel('Name optional').fill('Weather "API"')
  await wallet.fill(address.slice(0, -1))
  await page.locator('#field-svc-wallet-address-message', { hasText: '39' }).waitFor()
  expect(await wallet.getAttribute('aria-invalid')).toBe('true')
  expect(await wallet.getAttribute('aria-describedby')).toContain('field-svc-wallet-address-message')
  await page.getByLabel('Plan id').fill('hourly')
  await page.getByLabel('Price', { exact: true }).fill('1,000')
  await page.locator('#plan-0-price-message', { hasText: 'commas' }).waitFor()
  await expectAccessible(page, 'setup with mistakes')

  // Saving leads to the first of them instead.
  await page.getByRole('button', { name: 'Save and go live' }).click()
  await page.locator('[aria-invalid="true"]:focus').waitFor()

  await wallet.fill(address)
  await page.getByLabel('Price', { exact: true }).fill('0.25')
  await page.getByText('Chain access').click()
  await page.getByLabel('RPC endpoint').fill(chain.rpcUrl)
  await page.getByLabel('My own gas wallet').check()
  await page.getByLabel('Private key of the gas wallet').fill(chain.account(1).privateKey)
  await page.getByRole('button', { name: 'Generate Signing secret' }).click()
  await page.locator('#field-resource-endpoint-message', { hasText: 'somebody who answers' }).waitFor()
  await page.getByLabel('Where tokens are used').fill('https://api.example.com/v1/{resourceId}')
  const tokenSecret = await page.getByLabel('Signing secret').inputValue()
  expect(tokenSecret).toMatch(/^[0-9a-f]{64}$/)

  // The offer and the files follow what is typed; no secret is in them.
  await page.locator('.offer-price', { hasText: '$0.25' }).waitFor()
  const snippet = page.getByRole('tabpanel')
  await snippet.getByText('GAS_WALLET_PRIVATE_KEY').waitFor()
  await page.getByRole('tab', { name: '.env' }).press('ArrowRight')
  await snippet.getByText('docker run').waitFor()
  await page.getByText('Everything needed is there.').waitFor()
  await expectAccessible(page, 'setup')

  await page.getByRole('button', { name: 'Save and go live' }).click()
  await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
  await expectAccessible(page, 'live')
  expect((await fetch(`${server.url}/ready`)).status).toBe(200)

  // The configuration outlives the process; the login does not.
  await server.restart()
  await page.goto(`${server.url}/admin`)
  await page.getByLabel('Token').waitFor()
  await page.goto(server.printedUrl())
  await page.getByRole('heading', { name: 'Weather "API"' }).waitFor()
  await page.getByText('No sales yet').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()

  // A purchase shows up in the open page.
  await page.evaluate('globalThis.neverReloaded = true')
  const buyer = await chain.newBuyer({ micro: 250_000n })
  const { grant } = await createBuyer({ account: buyer.account, maxAmount: '$0.25' }).buy(server.url, {
    planId: 'hourly',
  })
  const row = page.locator(`[data-challenge="${grant.challengeId}"]`)
  await row.getByText('Delivered').waitFor()
  await page.locator('.figure', { hasText: 'Revenue' }).getByText('$0.25', { exact: true }).waitFor()
  expect(await page.evaluate('globalThis.neverReloaded')).toBe(true)
  await expectAccessible(page, 'dashboard after a sale')

  // Its timeline, with a link to the payment.
  await row.getByRole('button').click()
  const drawer = page.getByRole('dialog')
  await drawer.getByText('What happened').waitFor()
  expect(await drawer.locator(`a[href$="${grant.txHash}"]`).count()).toBe(1)
  await expectAccessible(page, 'a sale')
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })

  // Secrets are write-only: the page knows that they are set, and the wallet's address.
  await page.goto(`${server.url}/setup`)
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  await page.getByText(chain.account(1).address).waitFor()
  const received = await visitor.received()
  expect(received).toContain('GAS_WALLET_PRIVATE_KEY')
  for (const secret of [chain.account(1).privateKey, tokenSecret, grant.accessToken]) {
    expect(received).not.toContain(secret)
    expect(received.toLowerCase()).not.toContain(secret.slice(2).toLowerCase())
  }
  expect(visitor.complaints).toEqual([])

  // Replacing one setting keeps the secrets that were not touched.
  await page.getByLabel('Price', { exact: true }).fill('0.50')
  await page.locator('.offer-price', { hasText: '$0.50' }).waitFor()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
  const catalog = (await (await fetch(`${server.url}/discover`)).json()) as { plans: unknown[] }
  expect(catalog.plans).toEqual([expect.objectContaining({ planId: 'hourly', unitAmount: '$0.50' })])

  // The session alone does not change where the money goes.
  const other = chain.account(3).address
  await page.getByRole('button', { name: 'Change the settings' }).click()
  await page.getByLabel('Wallet address').fill(other)
  await page.getByText('Everything needed is there.').waitFor()
  await page.getByRole('button', { name: 'Save changes' }).click()
  const again = page.locator('#token-again')
  await page.getByText('Changing SVC_WALLET_ADDRESS needs it.').waitFor()
  await expectAccessible(page, 'the token is asked for again')
  await again.fill('a token that somebody guessed')
  await page.getByRole('button', { name: 'Save with the token' }).click()
  await page.getByText('This is not the token.').waitFor()
  const paidWallet = async () =>
    ((await (await fetch(`${server.url}/discover`)).json()) as { walletAddress: string }).walletAddress
  expect(await paidWallet()).toBe(address.toLowerCase())
  await again.fill(new URL(server.printedUrl()).searchParams.get('token')!)
  await again.press('Enter')
  await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
  expect(await paidWallet()).toBe(other.toLowerCase())
  expect(visitor.complaints).toEqual([])
  await visitor.close()
}, 300_000)

test('without a login nothing is shown, and the page asks for the token', async () => {
  const visitor = await openVisitor({ viewport: PHONE })
  for (const path of ['/setup', '/admin']) {
    await visitor.page.goto(server.url + path)
    await visitor.page.getByLabel('Token').waitFor()
    await expectAccessible(visitor.page, `${path} without a login`)
    await expectNoSidewaysScroll(visitor.page)
  }
  for (const path of [
    '/setup/api/state',
    '/admin/api/overview',
    '/admin/api/challenges',
    '/admin/api/export',
  ]) {
    expect((await fetch(server.url + path)).status, path).toBe(401)
  }
  expect((await fetch(`${server.url}/setup/api/save`, { method: 'POST', body: '{}' })).status).toBe(401)
  await visitor.close()
})

test('below a base path the pages find their files, their API and each other', async () => {
  const shop = await startStandalone({}, '/shop')
  const visitor = await openVisitor()
  try {
    const { page } = visitor
    await page.goto(shop.printedUrl())
    await page.getByRole('heading', { name: 'Start selling' }).waitFor()
    expect(page.url()).toBe(`${shop.url}/setup`)
    await showAllSettings(page)
    await page.getByLabel('Wallet address').fill('0x12')
    await page.locator('#field-svc-wallet-address-message').waitFor()

    // A message about two settings names both; what no page can change does not claim to be set in the environment.
    await page.getByRole('radio', { name: /Real USDC/ }).check()
    await page
      .locator('.field-message', { hasText: 'CDP_API_KEY_ID and CDP_API_KEY_SECRET' })
      .first()
      .waitFor()
    await page.getByText('It cannot be changed on this page: set it in the environment').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Start selling' }).waitFor()
    expect(await page.getByRole('link', { name: 'Setup' }).getAttribute('href')).toBe('/shop/setup')
    expect(visitor.complaints).toEqual([])
  } finally {
    await visitor.close()
    await shop.stop()
  }
})
