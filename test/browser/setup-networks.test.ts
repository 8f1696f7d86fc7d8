import { afterAll, beforeAll, expect, test } from 'vitest'
import { FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { startFixtureServer } from '../../ui/dev/start-fixture-server.ts'
import { closeVisitors, openVisitor, showAllSettings } from './browser.ts'
import { inspect } from './looks.ts'

let server: Awaited<ReturnType<typeof startFixtureServer>>

beforeAll(async () => {
  server = await startFixtureServer()
})
afterAll(async () => {
  await closeVisitors()
  await server?.close()
})

async function openForm() {
  const visitor = await openVisitor()
  const { page } = visitor
  await page.goto(`${server.url}/setup?token=${FIXTURE_TOKEN}`)
  await showAllSettings(page)
  await page.getByLabel('Wallet address').fill('0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
  await page.getByLabel('Plan id').fill('hourly')
  await page.getByLabel('Price', { exact: true }).fill('0.25')
  const add = async (word: string) => {
    await page.getByLabel('Another network').selectOption(word)
    await page.getByRole('button', { name: 'Add a network' }).click()
  }
  const order = () => page.locator('.network-head h3').allInnerTexts()
  return { ...visitor, add, order }
}

test('networks are added, ordered and removed', async () => {
  const { page, add, order, complaints, close } = await openForm()
  await page.locator('input[value="mainnet"]').check()
  await add('polygon')
  await add('ethereum')
  expect(await page.getByLabel('Another network').count(), 'none is left').toBe(0)
  expect(await order()).toEqual([expect.stringMatching(/^Base\s*preferred$/), 'Polygon', 'Ethereum'])

  // What is too small is said at the network and at the plan.
  await page.getByText('Prices from $4.00 are offered.').waitFor()
  await page.getByText('Too small for Ethereum (from $4.00)').waitFor()

  await page.getByText('Settings of Polygon').click()
  await page.getByLabel('RPC endpoint of Polygon').fill('https://rpc.example')
  await page.locator('#field-rpc-url-137-message', { hasText: 'block 1234' }).waitFor()
  await inspect(page, 'setup-networks')

  await page.getByRole('button', { name: 'Prefer Polygon' }).click()
  expect(await order()).toEqual([expect.stringMatching(/^Polygon\s*preferred$/), 'Base', 'Ethereum'])
  const checked = page.waitForRequest(/api\/check$/)
  await page.getByRole('button', { name: 'Remove Polygon' }).click()
  expect((await checked).postDataJSON()).toMatchObject({
    values: { SVC_NETWORK: 'base,ethereum' },
    secrets: {},
  })
  await page.getByRole('button', { name: 'Remove Ethereum' }).click()
  expect(
    await page.locator('input[value="mainnet"]').isChecked(),
    'one network is chosen by cards again',
  ).toBe(true)
  expect(complaints).toEqual([])
  await close()
})

test('test money is added to test money only', async () => {
  const { page, close } = await openForm()
  expect(await page.getByLabel('Another network').locator('option').allInnerTexts()).toEqual([
    'Arbitrum Sepolia (test money)',
  ])
  await close()
})
