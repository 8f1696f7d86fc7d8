import { afterAll, beforeAll, expect, test } from 'vitest'
import { FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { startFixtureServer } from '../../ui/dev/start-fixture-server.ts'
import { closeVisitors, expectAccessible, openVisitor } from './browser.ts'

let server: Awaited<ReturnType<typeof startFixtureServer>>
beforeAll(async () => {
  server = await startFixtureServer({ configured: true })
})
afterAll(async () => {
  await Promise.allSettled([closeVisitors(), server?.close()])
})

test('the drawer of a metered sale says what was charged, and of how much; that of a fixed price does not', async () => {
  const { page, close } = await openVisitor()
  await page.goto(`${server.url}/admin?token=${FIXTURE_TOKEN}`)
  const sales = page.locator('.challenges tbody tr')
  const open = (itemId: string) =>
    sales.filter({ hasText: itemId }).filter({ hasText: 'Delivered' }).first().getByRole('button').click()
  const drawer = page.getByRole('dialog')
  await open('chat')
  await drawer.getByText('$0.001858 of at most $0.02').waitFor()
  await expectAccessible(page, 'drawer of a metered sale')
  await drawer.getByRole('button', { name: 'Close', exact: true }).click()
  await open('weather')
  await drawer.getByText('What happened').waitFor()
  expect(await drawer.getByText('of at most').count()).toBe(0)
  await close()
})
