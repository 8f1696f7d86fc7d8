import type { Dialog, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPages } from '../../src/server/pages.ts'
import { type HttpServer, serveHttp } from '../../src/server/serve-http.ts'
import { createFixture, FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { closeVisitors, expectAccessible, expectNoSidewaysScroll, openVisitor } from './browser.ts'

const WALLET = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

let server: HttpServer
/** Called for each check: resolves when its body may go out; its head is out already. */
let holdBody: (() => Promise<void>) | undefined

beforeAll(async () => {
  const fixture = createFixture({ configured: true })
  const pages = createPages()
  server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    async handler(request) {
      const { pathname } = new URL(request.url)
      const hold = pathname === '/setup/api/check' ? holdBody?.() : undefined
      const answer = (await fixture.fetch(request)) ?? pages(request, pathname)
      if (!answer) return new Response(null, { status: 404 })
      return hold ? delayed(answer, hold) : answer
    },
  })
})
afterAll(async () => {
  await closeVisitors()
  await server?.close(0)
})

function delayed(answer: Response, until: Promise<void>): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const bytes = new Uint8Array(await answer.arrayBuffer())
      controller.enqueue(bytes.slice(0, 1))
      await until
      controller.enqueue(bytes.slice(1))
      controller.close()
    },
  })
  return new Response(body, { status: answer.status, headers: answer.headers })
}

async function openSetup(options: Parameters<typeof openVisitor>[0] = {}) {
  const visitor = await openVisitor(options)
  await visitor.page.goto(`${server.url}/setup?token=${FIXTURE_TOKEN}`)
  await visitor.page.getByRole('heading', { name: 'Settings' }).waitFor()
  await visitor.page.getByText('Everything needed is there.').waitFor()
  return visitor
}

test('a key that is pressed while the answer of a check is still coming leaves the form alive', async () => {
  const { page, complaints, close } = await openSetup()
  const name = page.getByLabel('Name optional')
  let release = () => {}
  const begun = page.waitForResponse(/api\/check$/)
  holdBody = () => new Promise((resolve) => (release = resolve))
  await name.fill('Rain')
  await begun
  holdBody = undefined
  // The check before is given up now, in the middle of its answer.
  await name.fill('Rain and snow')
  await page.getByLabel('Wallet address').fill('0x1234')
  await page.locator('#field-svc-wallet-address-message', { hasText: '4 hex digits' }).waitFor()
  release()
  expect(await name.inputValue()).toBe('Rain and snow')
  expect(complaints).toEqual([])
  await close()
})

test('at 390 pixels nothing is wider than the screen, and Save is on it', async () => {
  const { page, close } = await openSetup({ viewport: { width: 390, height: 844 } })
  await page.getByText(`${WALLET} holds`).waitFor()
  await page.evaluate('document.querySelectorAll("details").forEach((more) => { more.open = true })')
  await expectNoSidewaysScroll(page)
  const box = await page.getByRole('button', { name: 'Save changes' }).boundingBox()
  expect(box).not.toBeNull()
  expect(box!.x).toBeGreaterThanOrEqual(0)
  expect(box!.x + box!.width).toBeLessThanOrEqual(390)
  expect(box!.y + box!.height).toBeLessThanOrEqual(844)
  await close()
})

test('leaving, reloading and logging out ask before they lose what was typed, and only then', async () => {
  const { page, close } = await openSetup()
  const asked: string[] = []
  let answer: (dialog: Dialog) => Promise<void> = (dialog) => dialog.dismiss()
  page.on('dialog', (dialog) => {
    asked.push(dialog.type())
    void answer(dialog)
  })
  await page.reload()
  await page.getByText('Everything needed is there.').waitFor()
  expect(asked, 'nothing was typed').toEqual([])

  const name = page.getByLabel('Name optional')
  await type(page, ' of the coast')
  await page.evaluate('setTimeout(() => location.reload(), 0)')
  await expect.poll(() => asked).toEqual(['beforeunload'])
  await page.getByRole('link', { name: 'Dashboard' }).click({ noWaitAfter: true })
  await expect.poll(() => asked).toEqual(['beforeunload', 'beforeunload'])
  await page.getByRole('button', { name: 'Log out' }).click()
  await expect.poll(() => asked).toEqual(['beforeunload', 'beforeunload', 'confirm'])
  expect(await name.inputValue()).toBe('Weather API of the coast')

  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByRole('heading', { name: 'Your gateway is live' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  expect(asked, 'saved').toHaveLength(3)

  await type(page, '!')
  answer = (dialog) => dialog.accept()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.locator('#token').waitFor()
  expect(asked).toHaveLength(4)
  await close()
})

test('a session that ends while something is typed does not take it along', async () => {
  const { page, close } = await openSetup()
  // The check of what was typed is awaited: answered without the session, it would show the login before the click.
  const checked = page.waitForResponse(/api\/check$/)
  await page.getByLabel('Name optional').fill('Typed for an hour')
  await (await checked).finished()
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.locator('#token').waitFor()
  await expectAccessible(page, 'the login over a form')
  await page.locator('#token').fill(FIXTURE_TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('button', { name: 'Save changes' }).waitFor()
  expect(await page.getByLabel('Name optional').inputValue()).toBe('Typed for an hour')
  await close()
})

test('times are written as people say them, and what is none is explained', async () => {
  const { page, close } = await openSetup()
  const ttl = page.getByLabel('Valid for', { exact: true })
  await ttl.fill('soon')
  await page
    .getByText('Valid for: write a time such as 30 seconds, 90 minutes, 12 hours or 7 days.')
    .waitFor()
  const checked = page.waitForRequest(/api\/check$/)
  await ttl.fill('2 hours')
  const { values } = (await checked).postDataJSON()
  expect(values.PLANS[0].tokenTtlSeconds).toBe(7200)
  await page.getByText('Lifetime', { exact: true }).click()
  await page.getByLabel('A token is valid for').fill('1 week')
  await page.waitForRequest((request) => request.postDataJSON()?.values?.TOKEN_TTL_SECONDS === '604800')
  await page.getByLabel('A token is valid for').fill('a while')
  await page.locator('#field-token-ttl-seconds-message', { hasText: 'Write a time' }).waitFor()
  await close()
})

/** With real keys: a browser asks only those who have touched the page. */
async function type(page: Page, text: string): Promise<void> {
  await page.getByLabel('Name optional').press('End')
  await page.getByLabel('Name optional').pressSequentially(text)
  await page.getByText('Everything needed is there.').waitFor()
}
