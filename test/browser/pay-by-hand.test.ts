import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import express from 'express'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { payPerRequest, paystile } from '../../src/frameworks/express.ts'
import { createGateway } from '../../src/gateway.ts'
import { CALL_PRICE, sunny } from '../e2e/routes-world.ts'
import { freePort } from '../e2e/world.ts'
import { openVisitor } from './browser.ts'
import { injectWallet } from './injected-wallet.ts'
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

test('a person opens a paid link, pays once, and reads, saves and sees again what was bought', async () => {
  const { page, wallet, buyer, open, pay, complaints, close } = await person()
  const target = '/weather/berlin?days=2'
  await open(target)
  await page.getByRole('heading', { name: 'One city' }).waitFor()
  expect(await page.locator('.price').textContent()).toContain('$0.01')
  expect(await page.locator('.price').textContent()).toContain('USDC on Base Sepolia (test money)')
  await inspect(page, 'pay-offer')
  await pay()
  await page.getByText('"sky": "clear"').waitFor()
  await inspect(page, 'pay-answered')
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByText('Save as').click()])
  expect(saved.suggestedFilename()).toBe('berlin.json')
  const text = await readFile((await saved.path())!, 'utf8')
  expect(JSON.parse(text)).toEqual({ url: target, sky: 'clear' })
  expect(await paidBy(buyer)).toEqual([CALL_PRICE])

  await page.reload()
  await page.getByText('You bought this on').waitFor()
  await inspect(page, 'pay-bought')
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
  await inspect(page, 'pay-declined')
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
  await inspect(page, 'pay-no-money')
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
  await inspect(page, 'pay-document')
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
  const { page, close } = await openVisitor()
  await page.goto(`${routes.world.baseUrl}/weather/none`)
  await page.getByText('No wallet was found in this browser.').waitFor()
  await inspect(page, 'pay-no-wallet')
  const buyer = await routes.world.chain.newBuyer({ micro: CALL_PRICE })
  await injectWallet(page, buyer, routes.world.chain.rpcUrl, { name: 'First Wallet' })
  await page.addInitScript(`addEventListener('eip6963:requestProvider', () =>
    dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info: { uuid: 'b', name: '<b>Second</b>', icon: 'javascript:alert(1)' }, provider: { request: async () => [] } } })))`)
  await page.reload()
  await page.getByText('<b>Second</b>').click()
  await inspect(page, 'pay-wallets')
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
  await inspect(page, 'pay-shop')
  await page.getByRole('link', { name: 'Buy with a wallet: basic' }).click()
  await page.getByText('plan basic').waitFor()
  expect(await page.locator('.price').textContent()).toContain('$1.00')
  await inspect(page, 'pay-plan-offer')
  await pay()
  const token = (await page
    .getByRole('region', { name: 'What you bought' })
    .locator('pre')
    .first()
    .textContent())!
  await inspect(page, 'pay-plan-bought')
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

test('no other site can show the page in a frame', async () => {
  const { page, close } = await openVisitor()
  await page.setContent(`<iframe src="${routes.world.baseUrl}/weather/framed"></iframe>`)
  await expect.poll(() => page.mainFrame().childFrames()[0]?.url()).toMatch(/^chrome-error:/)
  await close()
})
