import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CALL_PRICE } from '../e2e/routes-world.ts'
import { inspect } from './looks.ts'
import { type PayWorld, startPayWorld } from './pay-world.ts'

let shop: PayWorld
let person: PayWorld['person']
let paidBy: PayWorld['paidBy']
beforeAll(async () => {
  shop = await startPayWorld()
  ;({ person, paidBy } = shop)
})
afterAll(() => shop?.stop())

/** The seller gets the payment, and something in front of it answers with this status, so often. */
async function answerInstead(page: Page, status: number, times: number): Promise<void> {
  let left = times
  await page.route('**/weather/*', async (route: Route) => {
    const isPaid = (await route.request().headerValue('payment-signature')) !== null
    if (!isPaid || left-- <= 0) return route.continue()
    await route.fetch()
    return route.fulfill({ status, body: 'lost on the way' })
  })
}

test('a proxy that lost the answer decides nothing: the same payment is sent again', async () => {
  const { page, wallet, buyer, open, pay, close } = await person()
  await answerInstead(page, 520, 2)
  await open('/weather/proxy')
  await pay()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  await close()
})

test('a payment that was refused without a word about the money can be sent after it has expired', async () => {
  const { page, wallet, buyer, open, pay, close } = await person()
  await answerInstead(page, 404, 2)
  await open('/weather/expired')
  await pay()
  await page.getByText('The seller refused the request.').waitFor()
  await page.evaluate(`for (const [key, value] of Object.entries(localStorage))
    localStorage.setItem(key, JSON.stringify({ ...JSON.parse(value), untilMs: Date.now() - 1000 }))`)
  await page.reload()
  await page.getByRole('button', { name: 'Start over' }).waitFor()
  await page.getByText('It may have been taken').waitFor()
  await inspect(page, 'pay-refused-expired')
  await page.getByRole('button', { name: 'Send the same payment again' }).click()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  await close()
})

test('an answer that breaks off is asked for again, with the same payment', async () => {
  const { page, wallet, buyer, open, pay, close } = await person()
  await page.addInitScript(() => {
    const send = globalThis.fetch
    let broken = 0
    globalThis.fetch = async (input, init) => {
      const response = await send(input, init)
      const isPaid = new Headers(init?.headers).has('payment-signature')
      if (!isPaid || !response.ok || ++broken > 1) return response
      const pull = (controller: ReadableStreamDefaultController) =>
        controller.error(new TypeError('terminated'))
      return new Response(new ReadableStream({ pull }), { status: 200, headers: response.headers })
    }
  })
  await open('/weather/broken-off')
  await pay()
  await page.getByText('The answer broke off').waitFor()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  await close()
})
