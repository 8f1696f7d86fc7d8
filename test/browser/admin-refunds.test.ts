import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { startFixtureServer } from '../../ui/dev/start-fixture-server.ts'
import type { ChallengeDetail, ChallengeItem, WaitingRefund } from '../../ui/shared/wire.ts'
import {
  closeVisitors,
  DESKTOP,
  expectAccessible,
  expectNoSidewaysScroll,
  openVisitor,
  PHONE,
} from './browser.ts'

let fixture: Awaited<ReturnType<typeof startFixtureServer>>
beforeAll(async () => {
  fixture = await startFixtureServer({ configured: true })
})
afterAll(async () => {
  await Promise.allSettled([closeVisitors(), fixture?.close()])
})

/** The fixture's answer at this path, changed. */
async function answering(page: Page, path: RegExp, change: (answer: string) => string): Promise<void> {
  await page.route(path, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: change(await response.text()) })
  })
}

test('a retry is offered for refunds that failed, whatever they return, and for no other', async () => {
  const { page } = await openVisitor({ viewport: DESKTOP })
  await page.goto(`${fixture.url}/admin?token=${FIXTURE_TOKEN}`)
  await page.getByRole('heading', { name: 'Weather API' }).waitFor()
  const listed = await page.request.get(`${fixture.url}/admin/api/challenges?state=DELIVERED&limit=2`)
  const { items } = (await listed.json()) as { items: ChallengeItem[] }
  const [sold, closed] = items as [ChallengeItem, ChallengeItem]
  const since = sold.paidAt!
  const refunds: WaitingRefund[] = [
    { ...sold, since, reason: null, attempts: 0, failed: false, surplus: true },
    { ...sold, since, reason: 'the token is paused', attempts: 5, failed: true, surplus: true },
    { ...closed, since, reason: null, attempts: 0, failed: false, credits: true },
  ]
  await answering(page, /\/admin\/api\/refunds$/, () => JSON.stringify({ items: refunds }))
  await answering(page, /\/admin\/api\/challenges\/[^/?]+$/, (answer) => {
    const detail = JSON.parse(answer) as ChallengeDetail
    const refund = {
      surplus: true,
      credits: false,
      recipient: sold.payer,
      micro: '1',
      attempts: 5,
      txHash: null,
    }
    const more = { network: sold.network, explorerUrl: null, reason: 'the token is paused' }
    return JSON.stringify({ ...detail, refunds: [{ ...refund, ...more, phase: 'FAILED' }] })
  })
  await page.reload()

  const rows = page.getByRole('table', { name: 'Refunds waiting' }).locator('tbody tr')
  await expect.poll(() => rows.count(), { timeout: 45_000 }).toBe(3)
  const offered = await Promise.all([0, 1, 2].map((row) => rows.nth(row).getByText('Retry').count()))
  expect(offered).toEqual([0, 1, 0])
  await rows.nth(1).getByText('second payment').waitFor()
  await rows.nth(1).getByText('its refund failed').waitFor()
  await rows.nth(2).getByText('unspent credits').waitFor()

  await rows.nth(1).getByRole('button', { name: sold.itemId, exact: true }).click()
  const drawer = page.getByRole('dialog')
  await drawer.getByRole('button', { name: 'Retry the refund' }).waitFor()
  expect(await drawer.getByLabel(/Refunded by hand/).count(), 'not known of a second payment').toBe(0)
  await expectAccessible(page, 'a failed second payment')
}, 120_000)

test('long names of the seller and of what is sold do not make a phone scroll sideways', async () => {
  const { page } = await openVisitor({ viewport: PHONE })
  const [agent, route] = ['A'.repeat(64), 'r'.repeat(51)]
  await answering(page, /\/admin\/api\/session$/, (answer) => answer.replace('Weather API', agent))
  await answering(page, /\/admin\/api\/(overview|refunds|challenges)/, (answer) =>
    answer.replaceAll('"weather"', `"${route}"`),
  )
  await page.goto(`${fixture.url}/admin?token=${FIXTURE_TOKEN}`)
  await page.getByRole('heading', { name: agent }).waitFor()
  await page.getByRole('table', { name: 'Revenue by plan and route' }).getByText(route).waitFor()
  const sale = page.locator('.challenges').getByRole('button', { name: route }).first()
  await sale.waitFor()
  await expectNoSidewaysScroll(page)
  await sale.click()
  await page.getByRole('dialog').getByRole('heading', { name: route }).waitFor()
  await expectNoSidewaysScroll(page)
}, 120_000)
