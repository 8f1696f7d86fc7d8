import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { startFixtureServer } from '../../ui/dev/start-fixture-server.ts'
import {
  closeVisitors,
  DESKTOP,
  expectAccessible,
  expectNoSidewaysScroll,
  openVisitor,
  PHONE,
} from './browser.ts'
import { type Standalone, startStandalone } from './standalone.ts'

const ADMIN_TOKEN = 'the-operator-token-of-this-test'

let chain: DevChain
let backend: Server
let server: Standalone

beforeAll(async () => {
  chain = await startDevChain()
  backend = createServer((_request, response) => response.writeHead(503).end('down for a moment'))
  await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening))
  server = await startStandalone({
    ADMIN_TOKEN,
    AGENT_NAME: 'Forecasts',
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    ROUTES: '[{"routeId":"weather","method":"GET","path":"/weather/:city","unitAmount":"$0.01"}]',
    PROXY_TO_BASE_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
    POLL_INTERVAL_MS: '50',
  })
})
afterAll(async () => {
  backend?.close()
  await Promise.allSettled([closeVisitors(), server?.stop(), chain?.stop()])
})

test('the operator sees a failed call wait for its refund, cancels an offer, exports, searches and leaves', async () => {
  const buyer = await chain.newBuyer({ micro: 2_000_000n })
  const client = createBuyer({ account: buyer.account, maxAmount: '$1.00' })
  const { grant } = await client.buy(server.url, { planId: 'basic' })
  await client.fetch(`${server.url}/weather/lisbon`)
  const open = await fetch(`${server.url}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ planId: 'basic', requestId: 'an-offer-nobody-took' }),
  })
  const { challengeId } = (await open.json()) as { challengeId: string }

  const visitor = await openVisitor()
  const { page } = visitor
  await page.goto(`${server.url}/admin`)
  await page.getByLabel('Token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Forecasts' }).waitFor()

  // Money first: what was earned, and what has to go back.
  await page.locator('.figure', { hasText: 'Revenue' }).getByText('$1.00', { exact: true }).waitFor()
  await page.locator('.funnel').getByText('Recorded offers').waitFor()
  const refunds = page.getByRole('table', { name: 'Refunds waiting' })
  await refunds.getByText('Paid, not delivered').waitFor()
  await page.getByText('Pays for gas').waitFor()

  // An unpaid offer is cancelled from its details.
  await page.locator(`[data-challenge="${challengeId}"]`).getByRole('button').click()
  const drawer = page.getByRole('dialog')
  await drawer.getByRole('button', { name: 'Cancel this offer' }).click()
  await drawer.getByText('Cancelled', { exact: true }).first().waitFor()
  await page.keyboard.press('Escape')
  await page.locator(`[data-challenge="${challengeId}"]`, { hasText: 'Cancelled' }).waitFor()

  // Searching by a part of the payment's hash leaves one row.
  await page.getByLabel('Search sales').fill(grant.txHash.slice(0, 20))
  const found = page.locator('section', { has: page.locator('.filters') })
  await expect.poll(() => found.textContent(), { timeout: 45_000 }).toContain('1 found')
  expect(await page.locator('.challenges tbody tr').count()).toBe(1)
  await page.getByLabel('Search sales').fill('nothing has this in it')
  await page.getByText('Nothing matches').waitFor()

  await page.getByText('Export', { exact: true }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'CSV' }).click(),
  ])
  const csv = await readFile(await download.path(), 'utf8')
  expect(csv).toContain(grant.challengeId)
  expect(csv.split('\n')[0]).toContain('testnet')
  expect(download.suggestedFilename()).toMatch(/\.csv$/)
  await page.getByLabel('From', { exact: true }).fill('2026-02-02')
  await page.getByLabel('Until', { exact: true }).fill('2026-02-01')
  await page.getByText('Until is before From.').waitFor()
  for (const name of ['CSV', 'JSONL', 'Credits']) {
    expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true)
  }
  await expectAccessible(page, 'an export that ends before it begins')
  await page.getByLabel('Until', { exact: true }).fill('2026-02-02')
  expect(await page.getByRole('link', { name: 'CSV' }).getAttribute('href')).toContain('from=')
  await page.keyboard.press('Escape')

  // The same page on a phone, in the dark.
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize(PHONE)
  await expectAccessible(page, 'dashboard on a phone, dark')
  await expectNoSidewaysScroll(page)

  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  await page.reload()
  await page.getByLabel('Token').waitFor()
  const received = await visitor.received()
  for (const secret of [
    ADMIN_TOKEN,
    chain.account(1).privateKey,
    'a shared secret of more',
    grant.accessToken,
  ]) {
    expect(received).not.toContain(secret)
  }
  expect(visitor.complaints).toEqual([])
  await visitor.close()
}, 240_000)

test('an export after the session has ended shows the login, and saves no file', async () => {
  const visitor = await openVisitor({ viewport: DESKTOP })
  const { page } = visitor
  await page.goto(`${server.url}/admin`)
  await page.getByLabel('Token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Export', { exact: true }).click()
  const saved: unknown[] = []
  page.on('download', (download) => saved.push(download))
  await page.context().clearCookies()
  await page.getByRole('link', { name: 'CSV' }).click()
  await page.getByLabel('Token').waitFor()
  expect(saved).toEqual([])
  await visitor.close()
}, 60_000)

test('on a phone the short name of a sold item stays in one line', async () => {
  const fixture = await startFixtureServer({ configured: true })
  const { page, close } = await openVisitor({ viewport: PHONE })
  await page.goto(`${fixture.url}/admin?token=${FIXTURE_TOKEN}`)
  const names = page.locator('.challenges tbody th .link')
  await names.first().waitFor()
  const lines = await page.evaluate(`(() => {
    // All of them: one longer name would make the column wider.
    const links = [...document.querySelectorAll('.challenges tbody th .link')]
    for (const link of links) link.firstChild.textContent = 'broken'
    const range = document.createRange()
    range.selectNodeContents(links[0].firstChild)
    return range.getClientRects().length
  })()`)
  expect(lines).toBe(1)
  await expectNoSidewaysScroll(page)
  await close()
  await fixture.close()
}, 60_000)

test('a seller on three networks sees what each brought, which one is withdrawn, and its sales alone', async () => {
  const fixture = await startFixtureServer({ configured: true, several: true })
  const visitor = await openVisitor({ viewport: DESKTOP })
  const { page } = visitor
  try {
    await page.goto(`${fixture.url}/admin?token=${FIXTURE_TOKEN}`)
    const networks = page.getByRole('table', { name: 'Networks, and revenue by network' })
    const withdrawn = networks.getByRole('row', { name: /Arbitrum Sepolia/ })
    await withdrawn.getByText('Withdrawn').waitFor()
    await withdrawn.getByText('the chain cannot be reached').waitFor()
    await networks
      .getByRole('row', { name: /Celo Sepolia/ })
      .getByText('From $0.05 per sale')
      .waitFor()
    await page.getByRole('heading', { name: 'Celo Sepolia' }).waitFor()
    await page.getByText('4.8 CELO').waitFor()

    await page.getByLabel('Network', { exact: true }).selectOption('Celo Sepolia')
    const cells = page.locator('.challenges tbody tr td:nth-child(4)')
    await expect
      .poll(async () => [...new Set(await cells.allTextContents())], { timeout: 45_000 })
      .toEqual(['Celo Sepolia'])
    await page.getByLabel('Status').selectOption('DELIVERED')
    await page.locator('.challenges .cover').first().click()
    const drawer = page.getByRole('dialog')
    await drawer.getByText('Celo Sepolia').waitFor()
    const link = drawer.getByRole('link', { name: /block explorer/ }).first()
    expect(await link.getAttribute('href')).toMatch(/^https:\/\/celo-sepolia\.blockscout\.com\/tx\/0x/)
    await page.keyboard.press('Escape')

    await expectAccessible(page, 'dashboard of three networks')
    await expectNoSidewaysScroll(page)
    await page.setViewportSize(PHONE)
    await expectAccessible(page, 'dashboard of three networks on a phone')
    await expectNoSidewaysScroll(page)
    expect(visitor.complaints).toEqual([])
  } finally {
    await visitor.close()
    await fixture.close()
  }
}, 240_000)
