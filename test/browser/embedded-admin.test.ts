import { once } from 'node:events'
import type { Server } from 'node:http'
import express from 'express'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { paystile, paystileAdmin } from '../../src/frameworks/express.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { freePort, TOKEN_SECRET } from '../e2e/world.ts'
import { closeVisitors, expectAccessible, expectNoSidewaysScroll, openVisitor, PHONE } from './browser.ts'
import { takePicture } from './looks.ts'

const TOKEN = 'the-token-of-the-operator'

let chain: DevChain
let gateway: Gateway
let server: Server
let origin: string
beforeAll(async () => {
  chain = await startDevChain()
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  gateway = await createGateway({
    walletAddress: chain.account(0).address,
    gasWalletPrivateKey: chain.account(1).privateKey,
    rpcUrl: chain.rpcUrl,
    store: 'memory',
    baseUrl: `${origin}/pay`,
    tokenSecret: TOKEN_SECRET,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    pollIntervalMs: 50,
    agentName: 'Corner shop',
    onAlert: () => {},
  })
  const app = express()
  app.use(express.json())
  app.use('/pay', paystile(gateway))
  app.use('/staff/office', paystileAdmin(gateway, { token: TOKEN }))
  app.get('/', (_req, res) => void res.send('own'))
  server = app.listen(port, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(async () => {
  await closeVisitors()
  server?.close().closeAllConnections()
  await gateway?.close()
  await chain?.stop()
})

test('an embedded seller logs in at a path of the application and watches a sale come in', async () => {
  const { page, complaints, received, close } = await openVisitor()
  const picture = async (name: string) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await takePicture(page, `embedded-${name}-${colorScheme}`)
    }
  }
  await page.goto(`${origin}/staff/office`)
  await page.getByText('the one that your application gives to').waitFor()
  expect(page.url()).toBe(`${origin}/staff/office/`)
  await expectAccessible(page, 'the login')
  await picture('login')
  await page.getByLabel('Token').fill(TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Corner shop' }).waitFor()
  expect(await page.getByRole('link', { name: 'Setup' }).count(), 'there is nothing to set up').toBe(0)
  await page.getByText('Live', { exact: true }).waitFor()

  const { account } = await chain.newBuyer({ micro: 1_000_000n })
  const { grant } = await createBuyer({ account, maxAmount: '$1.00' }).buy(`${origin}/pay`, {
    planId: 'basic',
  })
  // It comes without a reload.
  await page
    .getByRole('button', { name: 'basic' })
    .or(page.getByRole('cell', { name: 'basic' }))
    .first()
    .waitFor()
  expect(await received()).toContain(grant.challengeId)
  await expectAccessible(page, 'the dashboard')
  await picture('dashboard')
  await page.setViewportSize(PHONE)
  await expectNoSidewaysScroll(page)
  await picture('phone')

  const cookies = await page.context().cookies()
  expect(cookies.map(({ name, path, httpOnly }) => ({ name, path, httpOnly }))).toEqual([
    { name: 'svc_admin', path: '/staff/office', httpOnly: true },
  ])
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  expect(complaints).toEqual([])
  await close()
})
