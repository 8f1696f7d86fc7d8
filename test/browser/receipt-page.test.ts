import { mkdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleShop } from '../transports/sample-purchases.ts'
import { DESKTOP, expectAccessible, expectNoSidewaysScroll, launchBrowser, openVisitor } from './browser.ts'

/** A folder for pictures of every page, to look at. */
const PICTURES = process.env.RECEIPT_PICTURES

let browser: Browser
let server: Server
let url: string
beforeAll(async () => {
  if (PICTURES) await mkdir(PICTURES, { recursive: true })
  const { fetch } = sampleShop('https://shop.example')
  server = createServer(async (request, response) => {
    const headers = { accept: request.headers.accept ?? '' }
    const answer = await fetch(new Request(`https://shop.example${request.url}`, { headers }))
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/receipts`
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  server?.close()
})

const PHONE = { width: 390, height: 844 }
const LOOKS: Array<[string, BrowserContextOptions]> = [
  ['desktop-light', { viewport: DESKTOP, colorScheme: 'light' }],
  ['desktop-dark', { viewport: DESKTOP, colorScheme: 'dark' }],
  ['phone-light', { viewport: PHONE, colorScheme: 'light' }],
  ['phone-dark', { viewport: PHONE, colorScheme: 'dark' }],
]
const PAGES: Array<[string, string]> = [
  ['paid', 'Paid and delivered.'],
  ['call', 'Paid and delivered.'],
  ['refunded', 'The payment was refunded.'],
  ['failed', 'The refund could not be sent'],
  ['waiting', 'Not delivered yet'],
  ['unpaid', 'Not paid'],
  ['unknown', 'No such purchase'],
]

describe.each(LOOKS)('%s', (look, options) => {
  test('every state of a purchase is said in words, is accessible and fits', async () => {
    const { page, close, complaints } = await openVisitor(browser, options)
    for (const [id, words] of PAGES) {
      await page.goto(`${url}/${id}`)
      await page.getByText(words).first().waitFor()
      await expectAccessible(page, `${id}, ${look}`, options)
      await expectNoSidewaysScroll(page)
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/${id}-${look}.png`, fullPage: true })
    }
    expect(complaints).toEqual([])
    await close()
  })
})

test('on paper it is black on white, also for those whose screen is dark', async () => {
  const { page, close } = await openVisitor(browser, { colorScheme: 'dark' })
  for (const id of ['paid', 'refunded']) {
    await page.goto(`${url}/${id}`)
    await page.emulateMedia({ media: 'print' })
    const colours = await page.evaluate(`(() => {
      const { color } = getComputedStyle(document.querySelector('h1'))
      return [color, getComputedStyle(document.body).backgroundColor]
    })()`)
    expect(colours).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)'])
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/${id}-print.png`, fullPage: true })
    await page.emulateMedia({ media: 'screen' })
  }
  await close()
})

test('links lead to the explorer, and tell it nothing of the page', async () => {
  const { page, close } = await openVisitor(browser)
  await page.goto(`${url}/refunded`)
  const link = page.getByRole('link').first()
  expect(await link.getAttribute('href')).toMatch(/^https:\/\/sepolia\.basescan\.org\/tx\/0x(ab){32}$/)
  expect(await link.getAttribute('rel')).toContain('noreferrer')
  expect(await page.getByRole('link').count()).toBe(2)
  await close()
})
