import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import {
  closeVisitors,
  DESKTOP,
  expectAccessible,
  expectNoSidewaysScroll,
  openVisitor,
  PHONE,
} from './browser.ts'
import { takePicture } from './looks.ts'
import { type Standalone, startStandalone } from './standalone.ts'

const ADMIN_TOKEN = 'the-operator-token-of-this-test'

let chain: DevChain
let backend: Server
let server: Standalone

beforeAll(async () => {
  chain = await startDevChain()
  backend = createServer((_request, response) => response.writeHead(200).end('sunny'))
  await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening))
  server = await startStandalone({
    ADMIN_TOKEN,
    AGENT_NAME: 'Forecasts',
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: chain.account(0).privateKey,
    TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
    PLANS: '[{"planId":"basic","unitAmount":"$1.00","credits":50}]',
    ROUTES: '[{"routeId":"weather","method":"GET","path":"/weather/:city","unitAmount":"$0.01","credits":1}]',
    PROXY_TO_BASE_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
    POLL_INTERVAL_MS: '50',
  })
})
afterAll(async () => {
  backend?.close()
  await Promise.allSettled([closeVisitors(), server?.stop(), chain?.stop()])
})

test('the operator sees credits sold and spent, closes a purchase after confirming, and sees the refund wait', async () => {
  const buyer = await chain.newBuyer({ micro: 1_000_000n })
  const client = createBuyer({ account: buyer.account, maxAmount: '$1.00' })
  const { grant } = await client.buy(server.url, { planId: 'basic' })
  for (let calls = 0; calls < 20; calls++) {
    const headers = { authorization: `Bearer ${grant.accessToken}` }
    expect((await fetch(`${server.url}/weather/lisbon`, { headers })).status).toBe(200)
  }
  const visitor = await openVisitor({ viewport: DESKTOP })
  const { page } = visitor
  const picture = (name: string) => takePicture(page, `credits-${name}`)
  await page.goto(`${server.url}/admin`)
  await page.getByLabel('Token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  const plans = page.getByRole('table', { name: 'Credits by plan' })
  const cells = plans.getByRole('row', { name: /basic/ }).getByRole('cell')
  await expect
    .poll(() => cells.allTextContents(), { timeout: 45_000 })
    .toEqual(['50', '20', '30', '0', '0', '0'])
  await page.getByRole('table', { name: 'Credits by wallet' }).waitFor()
  await expectAccessible(page, 'dashboard with credits')
  await expectNoSidewaysScroll(page)
  await picture('desktop')

  await page.locator(`[data-challenge="${grant.challengeId}"]`).getByRole('button').click()
  const drawer = page.getByRole('dialog')
  await drawer.getByText('30 of 50 left, 20 spent').waitFor()
  await drawer.getByRole('button', { name: 'Close and refund…' }).click()
  await drawer.getByRole('button', { name: 'Keep it' }).click()
  await drawer.getByRole('button', { name: 'Close and refund…' }).click()
  await drawer.getByText('gets about $0.60 back').waitFor()
  await expectAccessible(page, 'the question before closing')
  await picture('question')
  await page.setViewportSize(PHONE)
  await expectAccessible(page, 'the question before closing on a phone')
  await expectNoSidewaysScroll(page)
  await picture('question-phone')
  await drawer.getByRole('button', { name: 'Close and refund $0.60' }).click()
  await drawer.getByText('Closed. $0.60 goes back.').waitFor()
  await drawer.getByText('20 spent, closed').waitFor()
  await page.keyboard.press('Escape')

  const refunds = page.getByRole('table', { name: 'Refunds waiting' })
  await refunds.getByText('unspent credits').waitFor()
  await refunds.getByText('$0.60').waitFor()
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectAccessible(page, 'dashboard with credits on a phone, dark')
  await expectNoSidewaysScroll(page)
  await picture('phone')
  await page.setViewportSize(DESKTOP)
  await expect
    .poll(() => cells.allTextContents(), { timeout: 45_000 })
    .toEqual(['50', '20', '0', '0', '30', '0'])
  expect(visitor.complaints).toEqual([])
  await visitor.close()
}, 240_000)
