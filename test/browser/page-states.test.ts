import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { startFixtureServer } from '../../ui/dev/start-fixture-server.ts'
import {
  closeVisitors,
  expectAccessible,
  expectNoSidewaysScroll,
  openVisitor,
  showAllSettings,
} from './browser.ts'
import { LOOKS } from './looks.ts'

type Fixture = Awaited<ReturnType<typeof startFixtureServer>>

let fresh: Fixture
let busy: Fixture
let quiet: Fixture

beforeAll(async () => {
  ;[fresh, busy, quiet] = await Promise.all([
    startFixtureServer({ locked: { BASE_URL: 'https://api.example.com' } }),
    startFixtureServer({ configured: true }),
    startFixtureServer({ configured: true, empty: true }),
  ])
})
afterAll(async () => {
  await closeVisitors()
  await Promise.allSettled([fresh?.close(), busy?.close(), quiet?.close()])
})

describe.each(LOOKS)('%s', (look, options) => {
  test('the setup, with everything unfolded and mistakes in it, is accessible and fits', async () => {
    const { page, close, complaints } = await openVisitor(options)
    await page.goto(`${fresh.url}/setup?token=${FIXTURE_TOKEN}`)
    await showAllSettings(page)
    await page.getByLabel('Wallet address').fill('0x1234')
    // It moves what is below it: a button must not be on its way while it is pressed.
    await page.locator('#field-svc-wallet-address-message').waitFor()
    await page.getByRole('button', { name: 'Add a route' }).click()
    await page.getByLabel('Price per call').fill('a lot')
    await page.locator('#route-0-price-message').waitFor()
    await page.evaluate('document.querySelectorAll("details").forEach((more) => { more.open = true })')
    await expectAccessible(page, `setup, ${look}`, options)
    await expectNoSidewaysScroll(page)
    expect(complaints).toEqual([])
    await close()
  })

  test('the dashboard, with alerts, refunds and a sale open, is accessible and fits', async () => {
    const { page, close, complaints } = await openVisitor(options)
    await page.goto(`${busy.url}/admin?token=${FIXTURE_TOKEN}`)
    await page.locator('.challenges tbody tr').first().waitFor()
    await page.locator('.chart canvas').waitFor()
    await page.getByText('Show as a table').click()
    await expectAccessible(page, `dashboard, ${look}`, options)
    await expectNoSidewaysScroll(page)
    await page.getByRole('table', { name: 'Refunds waiting' }).getByRole('button').first().click()
    await page.getByRole('dialog').getByText('What happened').waitFor()
    await expectAccessible(page, `a sale, ${look}`, options)
    expect(complaints).toEqual([])
    await close()
  })
})

test('a dashboard without sales says so in words', async () => {
  const { page, close } = await openVisitor()
  await page.goto(`${quiet.url}/admin?token=${FIXTURE_TOKEN}`)
  await page.getByText('No sales yet').waitFor()
  await page.getByText('No sales in this time').waitFor()
  expect(await page.getByText('Refunds waiting').count()).toBe(0)
  await expectAccessible(page, 'empty dashboard')
  await close()
})

test('alerts are marked as read, older sales are loaded, and new ones do not push them away', async () => {
  const { page, close } = await openVisitor()
  await page.goto(`${busy.url}/admin?token=${FIXTURE_TOKEN}`)
  await page.getByRole('button', { name: 'Mark as read' }).click()
  await page.getByText('One unread alert').waitFor({ state: 'detached' })
  const rows = page.locator('.challenges tbody tr')
  await page.getByRole('button', { name: 'Show more' }).click()
  await rows.nth(99).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  const sale = busy.sell()
  await page.locator(`[data-challenge="${sale.challengeId}"]`).waitFor()
  expect(await rows.count()).toBe(101)
  await close()
})

test('a section can be reached by keyboard alone, past the header', async () => {
  const { page, close } = await openVisitor()
  await page.goto(`${fresh.url}/setup?token=${FIXTURE_TOKEN}`)
  await page.getByRole('heading', { name: 'Start selling' }).waitFor()
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('Skip to the content')
  await showAllSettings(page)
  await page.getByLabel('Facilitator', { exact: false }).first().focus()
  await page.keyboard.press('ArrowDown')
  expect(await page.getByLabel('My own gas wallet').isChecked()).toBe(true)
  await page.getByLabel('Private key of the gas wallet').waitFor()
  await close()
})
