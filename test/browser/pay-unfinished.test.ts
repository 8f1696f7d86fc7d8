import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { CALL_PRICE, sunny } from '../e2e/routes-world.ts'
import { inspect } from './looks.ts'
import { type PayWorld, startPayWorld } from './pay-world.ts'

let shop: PayWorld
let routes: PayWorld['routes']
let person: PayWorld['person']
let paidBy: PayWorld['paidBy']
beforeAll(async () => {
  shop = await startPayWorld()
  ;({ routes, person, paidBy } = shop)
})
afterAll(() => shop?.stop())
beforeEach(() => {
  routes.backend.answer = sunny
})

test('a payment that settles late survives reloads: one signature, one payment, one answer', async () => {
  const { page, wallet, buyer, open, pay, close } = await person()
  const { chain } = routes.world
  await open('/weather/late')
  await chain.setAutomine(false)
  try {
    await pay()
    await page.getByText(/\(\d+ s\)/).waitFor()
    await page.getByText('The chain has not confirmed it yet').waitFor()
    await inspect(page, 'pay-settling')
    await page.reload()
    await page.getByText('The payment settles on the chain').waitFor()
    expect(await page.getByRole('button').count()).toBe(0)
    await page.reload()
  } finally {
    await chain.setAutomine(true)
    await chain.mine()
  }
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  await close()
})

test('a payment that is not taken stays the only one while it could be, in every window', async () => {
  const { page, wallet, buyer, open, pay, close } = await person()
  const { chain, baseUrl } = routes.world
  await open('/weather/refused')
  await chain.blacklist(buyer.address)
  await pay()
  await page.getByText('The payment was not taken.').waitFor()
  await page.getByText(/Until then only this same payment is sent again/).waitFor()
  await inspect(page, 'pay-not-taken')
  const second = await page.context().newPage()
  await second.goto(`${baseUrl}/weather/refused`)
  await second.getByText('The payment was not taken.').waitFor()
  expect(await second.getByRole('button', { name: /^Pay with/ }).count()).toBe(0)
  await chain.unblacklist(buyer.address)
  await page.getByRole('button', { name: 'Send the same payment again' }).click()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  await close()
})

test('after a failed call the same payment calls again', async () => {
  const { page, wallet, buyer, open, pay, close } = await person()
  routes.backend.answer = (_call, response) => response.writeHead(500).end('broken')
  await open('/weather/broken')
  await pay()
  await page.getByText('Paid, but not delivered.').waitFor()
  await inspect(page, 'pay-undelivered')
  routes.backend.answer = sunny
  await page.getByRole('button', { name: 'Try again without paying' }).click()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed).toHaveLength(1)
  expect(await routes.world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  await close()
})

test('a call that stays broken is refunded, and the page tells the story to its end', async () => {
  const { page, buyer, open, pay, close } = await person()
  routes.backend.answer = (_call, response) => response.writeHead(500).end('broken')
  await open('/weather/refunded')
  await pay()
  await page.getByText('Paid, but not delivered.').waitFor()
  await page.reload()
  await page.getByText('Paid, but not delivered.').waitFor()
  const isBack = page.getByText('Your money is back.')
  // Finality needs blocks, and an idle chain makes none.
  while ((await isBack.count()) === 0) await routes.world.chain.mine(1)
  await inspect(page, 'pay-refunded')
  expect(await routes.world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
  await page.reload()
  await isBack.waitFor()
  await page.getByRole('button', { name: 'Buy again' }).click()
  await page.getByRole('button', { name: /^Pay with/ }).waitFor()
  await close()
})

test('a plan that settles late survives reloads of its page', async () => {
  const { page, wallet, buyer, open, pay, close } = await person({ micro: 2_000_000n })
  const { chain } = routes.world
  await open('/x402/plans/basic?resourceId=europe')
  await chain.setAutomine(false)
  try {
    await pay()
    await page.getByText('The chain has not confirmed it yet').waitFor()
    await page.reload()
    await page.getByText('The payment settles on the chain').waitFor()
  } finally {
    await chain.setAutomine(true)
    await chain.mine()
  }
  await page.getByRole('region', { name: 'What you bought' }).waitFor()
  expect(await page.locator('main').textContent()).toContain('/europe')
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([1_000_000n])
  await close()
})
