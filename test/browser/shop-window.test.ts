import type { BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../e2e/world.ts'
import { closeVisitors, DESKTOP, expectAccessible, expectNoSidewaysScroll, openVisitor } from './browser.ts'
import { LOOKS, takePicture } from './looks.ts'
import { type Standalone, startStandalone } from './standalone.ts'

const EVIL = '<script>document.title = "stolen"</script><img src=x onerror="document.title = \'stolen\'">'
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><circle cx="20" cy="20" r="20" fill="#0a7d55"/></svg>`

const settings = async (): Promise<Record<string, string>> => ({
  SVC_WALLET_ADDRESS: `0x${'11'.repeat(20)}`,
  SVC_NETWORK: 'base,polygon,arbitrum',
  GAS_WALLET_PRIVATE_KEY: `0x${'22'.repeat(32)}`,
  // Nothing is bought here, so no chain has to answer.
  ...Object.fromEntries(
    await Promise.all(
      [8453, 137, 42161].map(async (id) => [`RPC_URL_${id}`, `http://127.0.0.1:${await freePort()}`]),
    ),
  ),
  TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
  AGENT_NAME: 'weather-agent',
  AGENT_DESCRIPTION: 'Hourly forecasts for every place on earth, as JSON.',
  PLANS: JSON.stringify([
    { planId: 'hourly', unitAmount: '$0.25', description: 'Everything, for an hour' },
    { planId: 'thousand', unitAmount: '$5.00', credits: 1000, description: `A thousand calls ${EVIL}` },
  ]),
  ROUTES: JSON.stringify([
    {
      routeId: 'weather',
      method: 'GET',
      path: '/weather/:city',
      unitAmount: '$0.01',
      credits: 1,
      description: 'The weather of one city',
    },
    {
      routeId: 'report',
      method: 'GET',
      path: '/report',
      unitAmount: '$0.50',
      description: `A report ${EVIL}`,
    },
    { routeId: 'cities', method: 'GET', path: '/cities', free: true },
  ]),
  PROXY_TO_BASE_URL: `http://127.0.0.1:${await freePort()}`,
  MCP_ENABLED: 'true',
  SHOP_NAME: 'Acme Weather & Sons',
  SHOP_COLOR: '#0a7d55',
  SHOP_LOGO_URL: 'https://acme.example/logo.svg',
  CONTACT_EMAIL: 'sales@acme.example',
})

let server: Standalone
beforeAll(async () => {
  server = await startStandalone(await settings())
})
afterAll(async () => {
  await closeVisitors()
  await server?.stop()
})

async function visit(options: BrowserContextOptions = {}) {
  const visitor = await openVisitor(options)
  const body = LOGO
  await visitor.page.route('https://acme.example/**', (route) =>
    route.fulfill({ contentType: 'image/svg+xml', body }),
  )
  return visitor
}

const WITHOUT_SCRIPTS: BrowserContextOptions = { viewport: DESKTOP, javaScriptEnabled: false }
const SHOWN: Array<[string, BrowserContextOptions]> = [...LOOKS, ['without-scripts', WITHOUT_SCRIPTS]]

describe.each(SHOWN)('%s', (look, options) => {
  test('the base path shows what is sold, and how to buy it', async () => {
    const { page, complaints, close } = await visit(options)
    await page.goto(server.url)
    await page.getByRole('heading', { name: 'Acme Weather & Sons' }).waitFor()
    for (const words of [
      '$0.25',
      '$5.00 for 1000 credits',
      '$0.01 or 1 credit',
      'npx paystile buy',
      'mcpServers',
    ])
      await page.getByText(words).first().waitFor()
    if (options.javaScriptEnabled !== false) {
      await expectAccessible(page, look, options)
      await expectNoSidewaysScroll(page)
      expect(await page.title()).toBe('Acme Weather & Sons')
      expect(complaints).toEqual([])
    }
    await takePicture(page, `shop-${look}`)
    await close()
  })
})

test('each text is copied by a button', async () => {
  const { page, close } = await visit({ permissions: ['clipboard-read', 'clipboard-write'] })
  await page.goto(server.url)
  await page.getByRole('button', { name: 'Copy: In a terminal' }).click()
  await page.getByText('Copied').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`npx paystile buy ${server.url}`)
  await close()
})

test('a paid link leads to its payment page, whose script runs beside the operator’s pages', async () => {
  const { page, complaints, close } = await visit()
  await page.goto(server.url)
  await page.getByRole('link', { name: 'Open and pay with a wallet' }).click()
  await page.getByText('No wallet was found in this browser.').waitFor()
  expect(await page.locator('.price').textContent()).toContain('$0.50 USDC on Base')
  expect(await page.title()).not.toBe('stolen')
  await expectAccessible(page, 'the payment page')
  await takePicture(page, 'pay-hostile-texts')
  expect(complaints).toEqual([])
  await close()
})

test('without scripts the payment page still tells the price', async () => {
  const { page, close } = await visit({ javaScriptEnabled: false })
  await page.goto(`${server.url}/report`)
  expect(await page.locator('.price').textContent()).toContain('$0.50')
  await close()
})

test('no other site can show it in a frame', async () => {
  const { page, close } = await visit()
  await page.setContent(`<iframe src="${server.url}/"></iframe>`)
  await expect.poll(() => page.mainFrame().childFrames()[0]?.url()).toMatch(/^chrome-error:/)
  await close()
})

test('agents get what they always got', async () => {
  const missing = await fetch(server.url, { headers: { accept: '*/*' } })
  expect(missing.status).toBe(404)
  expect(await missing.json()).toMatchObject({ code: 'INVALID_REQUEST', endpoints: expect.any(Array) })
  const challenge = await fetch(`${server.url}/report`)
  expect([challenge.status, challenge.headers.get('content-type')]).toEqual([402, 'application/json'])
  const shown = await fetch(`${server.url}/report`, {
    headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' },
  })
  // A client of the Fetch standard names its own mode, which is no navigation.
  expect(shown.headers.get('content-type')).toBe('application/json')
})

test('switched off, people are led to the dashboard, and a paid link is JSON to everybody', async () => {
  const off = await startStandalone({ ...(await settings()), SHOP_WINDOW: 'off' }, '/pay')
  try {
    const asHtml = { headers: { accept: 'text/html' }, redirect: 'manual' } as const
    const root = await fetch(`${off.url}/`, asHtml)
    expect([root.status, root.headers.get('location')]).toEqual([302, '/pay/admin'])
    const { page, close } = await visit()
    const answer = await page.goto(`${off.url}/report`)
    expect(answer?.headers()['content-type']).toBe('application/json')
    await close()
  } finally {
    await off.stop()
  }
})
