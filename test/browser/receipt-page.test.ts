import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleShop } from '../transports/sample-purchases.ts'
import { closeVisitors, expectAccessible, expectNoSidewaysScroll, openVisitor } from './browser.ts'
import { LOOKS, takePicture } from './looks.ts'

let server: Server
let url: string
beforeAll(async () => {
  const { fetch } = sampleShop('https://shop.example')
  server = createServer(async (request, response) => {
    const headers = { accept: request.headers.accept ?? '' }
    const answer = await fetch(new Request(`https://shop.example${request.url}`, { headers }))
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/receipts`
})
afterAll(async () => {
  await closeVisitors()
  server?.close()
})

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
    const { page, close, complaints } = await openVisitor(options)
    for (const [id, words] of PAGES) {
      await page.goto(`${url}/${id}`)
      await page.getByText(words).first().waitFor()
      await expectAccessible(page, `${id}, ${look}`, options)
      await expectNoSidewaysScroll(page)
      await takePicture(page, `receipt-${id}-${look}`)
    }
    expect(complaints).toEqual([])
    await close()
  })
})

test('on paper it is black on white, also for those whose screen is dark', async () => {
  const { page, close } = await openVisitor({ colorScheme: 'dark' })
  for (const id of ['paid', 'refunded']) {
    await page.goto(`${url}/${id}`)
    await page.emulateMedia({ media: 'print' })
    const colours = await page.evaluate(`(() => {
      const { color } = getComputedStyle(document.querySelector('h1'))
      return [color, getComputedStyle(document.body).backgroundColor]
    })()`)
    expect(colours).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)'])
    await takePicture(page, `receipt-${id}-print`)
    await page.emulateMedia({ media: 'screen' })
  }
  await close()
})

test('links lead to the explorer, and tell it nothing of the page', async () => {
  const { page, close } = await openVisitor()
  await page.goto(`${url}/refunded`)
  const link = page.getByRole('link').first()
  expect(await link.getAttribute('href')).toMatch(/^https:\/\/sepolia\.basescan\.org\/tx\/0x(ab){32}$/)
  expect(await link.getAttribute('rel')).toContain('noreferrer')
  expect(await page.getByRole('link').count()).toBe(2)
  await close()
})
