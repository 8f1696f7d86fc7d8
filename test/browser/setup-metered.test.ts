import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import {
  closeVisitors,
  expectAccessible,
  expectNoSidewaysScroll,
  openVisitor,
  showAllSettings,
} from './browser.ts'
import { type Standalone, startStandalone } from './standalone.ts'

let chain: DevChain
let server: Standalone
let backend: Server

beforeAll(async () => {
  backend = createServer((_request, response) => response.end('{}'))
  await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening))
  chain = await startDevChain()
  server = await startStandalone({ POLL_INTERVAL_MS: '50', RPC_URL: chain.rpcUrl })
})
afterAll(async () => {
  await Promise.allSettled([closeVisitors(), server?.stop(), chain?.stop()])
  backend?.close()
})

const routesSaved = (page: Page) =>
  page.evaluate(async () => {
    const answer = await fetch('/setup/api/state')
    return ((await answer.json()) as { values: { ROUTES: unknown } }).values.ROUTES
  })

const CHAT = {
  ...{ routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02', raw: true },
  charge: { per: '/usage/total_tokens', unitAmount: '$0.000002' },
  chargeIfUnstated: 'nothing',
  stream: { maxUnpaidPerPayer: '$0.10', maxUnpaid: '$5.00' },
}

test('a metered route is typed, told its mistakes, saved, shown again, and kept by a save of something else', async () => {
  const { page, complaints, close } = await openVisitor()
  await page.goto(server.printedUrl())
  await showAllSettings(page)
  await page.getByLabel('Wallet address').fill(chain.account(0).address)
  await page.getByRole('button', { name: 'Add a route' }).click()
  const row = page.locator('#list-routes li')
  await row.getByLabel('Route id').fill('chat')
  await row.getByLabel('Method').selectOption('POST')
  await row.getByLabel('Path').fill('/chat')
  await row.getByLabel('Metered').check()
  const says = (text: string) => row.getByText(text).waitFor()
  await says('At most per call: say the most that a call costs, for example 0.02.')

  await row.getByLabel('At most per call').fill('0.02')
  await page.locator('.offer-price', { hasText: 'up to $0.02' }).waitFor()
  await row.getByLabel('Count in the answer').fill('usage.total_tokens')
  await row.getByLabel('Streamed').check()
  await says('Count in the answer: "usage.total_tokens" must be a JSON pointer such as')
  await says('Price of one: say what one of the count costs')
  await says('Unpaid, one buyer: say a limit')
  await row.getByLabel('Count in the answer').fill('/usage/total_tokens')
  await row.getByLabel('Price of one').fill('0.000002')
  await row.getByLabel('Unpaid, one buyer').fill('0.01')
  await row.getByLabel('Unpaid, all buyers').fill('0.005')
  await says('Unpaid, one buyer: $0.01 is less than the $0.02 of one call')
  await says('Unpaid, all buyers: $0.005 is less than the $0.01 of one buyer.')
  expect(await row.getByLabel('Unpaid, one buyer').getAttribute('aria-invalid')).toBe('true')
  await expectAccessible(page, 'a metered route with mistakes')
  await row.getByLabel('Unpaid, one buyer').fill('$0.10')
  await row.getByLabel('Unpaid, all buyers').fill('5.00')
  await row.getByLabel('If the answer does not say').selectOption('nothing')
  // Only answers as they are can be streamed, and metered calls are not prepaid.
  expect(await row.getByLabel('Raw').isChecked()).toBe(true)
  expect(await row.getByLabel('Raw').isDisabled()).toBe(true)
  expect(await row.getByLabel('Credits').isDisabled()).toBe(true)

  await page
    .locator('#field-proxy-to-base-url')
    .fill(`http://127.0.0.1:${(backend.address() as AddressInfo).port}`)
  // No facilitator settles metered calls.
  await page.getByText('The key of a gas wallet is not set, and route chat has scheme "upto"').waitFor()
  await page.getByLabel('My own gas wallet').check()
  await page.getByLabel('Private key of the gas wallet').fill(chain.account(1).privateKey)
  await page.getByText('Everything needed is there.').waitFor()
  await page.getByRole('button', { name: 'Save and go live' }).click()
  await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
  expect(await routesSaved(page)).toEqual([CHAT])

  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${server.url}/setup`)
  await page.getByText('Everything needed is there.').waitFor()
  await expectNoSidewaysScroll(page)
  expect(await row.getByLabel('Metered').isChecked()).toBe(true)
  expect(await row.getByLabel('Count in the answer').inputValue()).toBe('/usage/total_tokens')
  expect(await row.getByLabel('If the answer does not say').inputValue()).toBe('nothing')
  expect(await row.getByLabel('Unpaid, all buyers').inputValue()).toBe('5.00')
  await page.getByLabel('Name optional').fill('Another name')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
  expect(await routesSaved(page)).toEqual([CHAT])

  // Without the tick it has a fixed price again, and nothing of the meter is left.
  await page.goto(`${server.url}/setup`)
  await row.getByLabel('Metered').uncheck()
  await row.getByLabel('Price per call').fill('0.05')
  await page.getByText('Everything needed is there.').waitFor()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
  const fixed = { routeId: 'chat', method: 'POST', path: '/chat', unitAmount: '$0.05', raw: true }
  expect(await routesSaved(page)).toEqual([fixed])
  expect(complaints).toEqual([])
  await close()
})

test('the address that is printed for the next login leads to the setup, logged in', async () => {
  const fresh = await startStandalone()
  const { page, close } = await openVisitor()
  await page.goto(fresh.printedUrl())
  await page.getByRole('heading', { name: 'Start selling' }).waitFor()
  await page.context().clearCookies()
  await expect.poll(() => fresh.printedUrl()).toContain('/admin?token=')
  await page.goto(fresh.printedUrl())
  await page.getByRole('heading', { name: 'Start selling' }).waitFor()
  await close()
  await fresh.stop()
})
