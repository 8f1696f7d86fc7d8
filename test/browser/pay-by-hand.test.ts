import { mkdir, readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import express from 'express'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { payPerRequest, paystile } from '../../src/frameworks/express.ts'
import { createGateway } from '../../src/gateway.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from '../e2e/routes-world.ts'
import { freePort, TOKEN_SECRET } from '../e2e/world.ts'
import {
  DESKTOP,
  expectAccessible,
  expectNoSidewaysScroll,
  launchBrowser,
  openVisitor,
  PHONE,
  type Visitor,
} from './browser.ts'
import { type InjectedWallet, injectWallet } from './injected-wallet.ts'

/** A folder for pictures of every state, to look at. */
const PICTURES = process.env.PAGE_PICTURES

const ROUTES = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', description: 'One city' },
  { routeId: 'site', method: 'GET', path: '/site/:page', unitAmount: '$0.01', raw: true },
] as const

const PLANS = [{ planId: 'basic', unitAmount: '$1.00', description: 'Forecasts for an hour' }]

let browser: Browser
let routes: RoutesWorld
beforeAll(async () => {
  if (PICTURES) await mkdir(PICTURES, { recursive: true })
  routes = await startRoutesWorld({
    options: {
      routes: ROUTES,
      plans: PLANS,
      tokenSecret: TOKEN_SECRET,
      settleWaitSeconds: 1,
      refundMinAgeSeconds: 5,
      agentName: 'Weather & Sons',
    },
  })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await routes?.stop()
})
beforeEach(() => {
  routes.backend.answer = sunny
})

interface Person extends Visitor {
  wallet: InjectedWallet
  buyer: DevAccount
  open(target: string): Promise<void>
  pay(): Promise<void>
}

async function person(
  options: { micro?: bigint; wallet?: Parameters<typeof injectWallet>[3]; look?: BrowserContextOptions } = {},
): Promise<Person> {
  const { chain, baseUrl } = routes.world
  const buyer = await chain.newBuyer({ micro: options.micro ?? 5n * CALL_PRICE })
  const visitor = await openVisitor(browser, options.look)
  const wallet = await injectWallet(visitor.page, buyer, chain.rpcUrl, options.wallet)
  return {
    ...visitor,
    wallet,
    buyer,
    open: async (target) => void (await visitor.page.goto(baseUrl + target)),
    pay: () => visitor.page.getByRole('button', { name: /^Pay with/ }).click(),
  }
}

/** The page as it stands is accessible, fits a phone, and is pictured in both color schemes if somebody wants to look. */
async function inspect(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectAccessible(page, `${name}, ${colorScheme}`)
    if (PICTURES)
      await page.screenshot({ path: `${PICTURES}/pay-${name}-${colorScheme}.png`, fullPage: true })
  }
  await page.setViewportSize(PHONE)
  await expectNoSidewaysScroll(page)
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/pay-${name}-phone.png`, fullPage: true })
  await page.setViewportSize(DESKTOP)
  await page.emulateMedia({ colorScheme: 'light' })
}

const paidBy = async (buyer: DevAccount): Promise<bigint[]> => (await routes.world.flows(buyer)).paid

test('a person opens a paid link, pays once, and reads, saves and sees again what was bought', async () => {
  const { page, wallet, buyer, open, pay, complaints, close } = await person()
  const target = '/weather/berlin?days=2'
  await open(target)
  await page.getByRole('heading', { name: 'One city' }).waitFor()
  expect(await page.locator('.price').textContent()).toContain('$0.01')
  expect(await page.locator('.price').textContent()).toContain('USDC on Base Sepolia (test money)')
  await inspect(page, 'offer')
  await pay()
  await page.getByText('"sky": "clear"').waitFor()
  await inspect(page, 'answered')
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByText('Save as').click()])
  expect(saved.suggestedFilename()).toBe('berlin.json')
  const text = await readFile((await saved.path())!, 'utf8')
  expect(JSON.parse(text)).toEqual({ url: target, sky: 'clear' })
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])

  await page.reload()
  await page.getByText('You bought this on').waitFor()
  await inspect(page, 'bought')
  await page.getByRole('button', { name: 'Show the answer again' }).click()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  const receipt = await page.getByRole('link', { name: 'receipt' }).getAttribute('href')
  expect(receipt).toMatch(/\/receipts\//)
  expect(complaints).toEqual([])
  await close()
})

test('a wallet that is only injected will do, and what the person declines is not charged', async () => {
  const { page, wallet, buyer, open, pay, close } = await person({ wallet: { announces: false } })
  await open('/weather/paris')
  wallet.declines.add('eth_signTypedData_v4')
  await pay()
  await page.getByText('The payment was declined in the wallet. Nothing was charged.').waitFor()
  await inspect(page, 'declined')
  wallet.declines = new Set(['eth_requestAccounts'])
  await pay()
  await page.getByText('The connection was declined in the wallet. Nothing was charged.').waitFor()
  expect(await paidBy(buyer)).toEqual([])
  wallet.declines.clear()
  await pay()
  await page.getByText('"sky": "clear"').waitFor()
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  await close()
})

test('a wallet on another network is switched, after adding the network where it must', async () => {
  const { page, wallet, buyer, open, pay, close } = await person({ wallet: { chainId: 1 } })
  await open('/weather/rome')
  wallet.declines.add('wallet_addEthereumChain')
  await pay()
  await page.getByText('Adding Base Sepolia was declined in the wallet. Nothing was charged.').waitFor()
  wallet.known.add(84_532)
  wallet.declines = new Set(['wallet_switchEthereumChain'])
  await pay()
  await page.getByText('The switch of networks was declined in the wallet.').waitFor()
  wallet.known.delete(84_532)
  wallet.declines.clear()
  await pay()
  await page.getByText('"sky": "clear"').waitFor()
  expect(wallet.signed.map(({ domain }) => domain.chainId)).toEqual([84_532])
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])
  await close()
})

test('a wallet without enough money is told so before anything is signed', async () => {
  const { page, wallet, open, pay, close } = await person({ micro: 4_000n })
  await open('/weather/oslo')
  await pay()
  await page.getByText('The wallet has $0.004 USDC on Base Sepolia, and this costs $0.01.').waitFor()
  expect(wallet.signed).toEqual([])
  await inspect(page, 'no-money')
  await close()
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
    await inspect(page, 'settling')
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
  await inspect(page, 'not-taken')
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
  await inspect(page, 'undelivered')
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
  await inspect(page, 'refunded')
  expect(await routes.world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
  await page.reload()
  await isBack.waitFor()
  await page.getByRole('button', { name: 'Buy again' }).click()
  await page.getByRole('button', { name: /^Pay with/ }).waitFor()
  await close()
})

test('scripts of the backend’s answer run nowhere near the page', async () => {
  const { page, open, pay, close } = await person()
  const attack = 'parent.document.title = top.document.title = "stolen"; localStorage.clear()'
  routes.backend.answer = (_call, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<h1>Report</h1><script>${attack}</script><img src=x onerror='${attack}'>`)
  await open('/site/report')
  await pay()
  const frame = page.frameLocator('iframe')
  await frame.getByRole('heading', { name: 'Report' }).waitFor()
  expect(await page.title()).not.toBe('stolen')
  expect(await page.locator('iframe').getAttribute('sandbox')).toBe('')
  expect(await page.evaluate('Object.keys(localStorage).length')).toBe(1)
  await inspect(page, 'document')
  routes.backend.answer = (_call, response) =>
    response
      .writeHead(200, { 'content-type': 'image/svg+xml' })
      .end(
        `<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><rect width="80" height="40" fill="teal"/><script>${attack}</script></svg>`,
      )
  await open('/site/picture')
  await pay()
  await page.getByRole('img', { name: 'The answer' }).waitFor()
  expect(await page.title()).not.toBe('stolen')
  await close()
})

test('without a wallet, or with several, the page says what to do', async () => {
  const { page, close } = await openVisitor(browser)
  await page.goto(`${routes.world.baseUrl}/weather/none`)
  await page.getByText('No wallet was found in this browser.').waitFor()
  await inspect(page, 'no-wallet')
  const buyer = await routes.world.chain.newBuyer({ micro: CALL_PRICE })
  await injectWallet(page, buyer, routes.world.chain.rpcUrl, { name: 'First Wallet' })
  await page.addInitScript(`addEventListener('eip6963:requestProvider', () =>
    dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info: { uuid: 'b', name: '<b>Second</b>', icon: 'javascript:alert(1)' }, provider: { request: async () => [] } } })))`)
  await page.reload()
  await page.getByText('<b>Second</b>').click()
  await inspect(page, 'wallets')
  await page.getByRole('button', { name: 'Pay with <b>Second</b>' }).click()
  await page.getByText('The wallet has no account to pay from.').waitFor()
  await close()
})

test('a call that the seller’s own server answers is paid by hand as well', async () => {
  const { chain } = routes.world
  const port = await freePort()
  const gateway = await createGateway({
    walletAddress: chain.account(4).address,
    gasWalletPrivateKey: chain.account(5).privateKey,
    rpcUrl: chain.rpcUrl,
    routes: [{ routeId: 'own', method: 'GET', path: '/own', unitAmount: '$0.01', description: 'Our own' }],
    baseUrl: `http://127.0.0.1:${port}/gateway`,
    store: 'memory',
    pollIntervalMs: 25,
  })
  const app = express()
  app.use('/gateway', paystile(gateway))
  app.get(
    '/own',
    payPerRequest(gateway, 'own'),
    (_req, res) => void res.type('text').send('from our own server'),
  )
  const server = await new Promise<Server>((done) => {
    const listening: Server = app.listen(port, '127.0.0.1', () => done(listening))
  })
  const { page, wallet, pay, close } = await person()
  await page.goto(`http://127.0.0.1:${port}/own`)
  await pay()
  await page.getByText('from our own server').waitFor()
  expect(wallet.signed).toHaveLength(1)
  await close()
  server.close()
  server.closeAllConnections()
  await gateway.close()
})

test('a person buys a plan from the shop window, and sees its token once', async () => {
  const { page, wallet, buyer, open, pay, complaints, close } = await person({ micro: 2_000_000n })
  await open('/')
  await inspect(page, 'shop')
  await page.getByRole('link', { name: 'Buy with a wallet: basic' }).click()
  await page.getByText('plan basic').waitFor()
  expect(await page.locator('.price').textContent()).toContain('$1.00')
  await inspect(page, 'plan-offer')
  await pay()
  const token = (await page
    .getByRole('region', { name: 'What you bought' })
    .locator('pre')
    .first()
    .textContent())!
  await inspect(page, 'plan-bought')
  const claims = await routes.world.gateway.verifyBearer(
    new Request(routes.world.baseUrl, { headers: { authorization: `Bearer ${token}` } }),
    { planId: 'basic' },
  )
  expect(claims).toMatchObject({ ok: true, claims: { walletAddress: buyer.address.toLowerCase() } })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy: The token' }).click()
  await page.getByRole('button', { name: 'Copied: The token' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(token)

  await page.reload()
  await page.getByRole('button', { name: /^Pay with/ }).waitFor()
  expect(await page.content()).not.toContain(token)
  expect(await page.evaluate('JSON.stringify(localStorage)'), 'nothing stays in the browser').toBe('{}')
  expect(wallet.signed).toHaveLength(1)
  expect(await paidBy(buyer)).toEqual([1_000_000n])
  expect(complaints).toEqual([])
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

test('no other site can show the page in a frame', async () => {
  const { page, close } = await openVisitor(browser)
  await page.setContent(`<iframe src="${routes.world.baseUrl}/weather/framed"></iframe>`)
  await expect.poll(() => page.mainFrame().childFrames()[0]?.url()).toMatch(/^chrome-error:/)
  await close()
})
