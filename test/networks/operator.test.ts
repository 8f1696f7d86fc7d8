import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevChain } from '../../src/testing/index.ts'
import {
  closeVisitors,
  expectAccessible,
  expectNoSidewaysScroll,
  openVisitor,
  PHONE,
} from '../browser/browser.ts'
import { cliProcess } from '../e2e/cli-terminal.ts'
import {
  askUntil,
  entryOn,
  PRICE,
  type Shop,
  shopEnv,
  signFor,
  startChains,
  startShop,
  termsOf,
} from './shop.ts'

const ADMIN_TOKEN = 'the-operator-of-three-networks'

let chains: DevChain[]
let env: NodeJS.ProcessEnv
let shop: Shop
/** The transaction of the sale on each chain. */
const sold: string[] = []

beforeAll(async () => {
  chains = await startChains(84532, 421614, 11142220)
  env = shopEnv(chains, { ADMIN_TOKEN })
  shop = await startShop(env)
  for (const chain of chains) {
    const buyer = await chain.newBuyer({ micro: PRICE })
    const body = { planId: 'basic', requestId: `on-${chain.chainId}` }
    const required = termsOf(await askUntil(shop.url, body, [402]))
    const header = await signFor(buyer, entryOn(required, chain))
    sold.push((await askUntil(shop.url, body, [200], header)).body.txHash!)
    // Until the receipt is final.
    await chain.mine(4)
  }
}, 120_000)
afterAll(async () => {
  await closeVisitors()
  await shop?.stop()
  await Promise.all((chains ?? []).map((chain) => chain.stop()))
})

const commandEnv = (): Record<string, string> => {
  const { port } = new URL(shop.url)
  return { ...(env as Record<string, string>), DATA_DIR: shop.dataDir, BASE_URL: shop.url, PORT: port }
}

test('doctor looks at every network', async () => {
  const { output, code } = await cliProcess(commandEnv(), 'doctor')
  for (const { network, chainId } of chains) {
    expect(output).toContain(network)
    expect(output).toContain(`RPC_URL_${chainId}`)
  }
  expect(code, output).toBe(0)
})

test('reconcile compares every network with its own chain', async () => {
  const { output, code } = await cliProcess(commandEnv(), 'reconcile')
  for (const { network } of chains)
    expect(output).toMatch(new RegExp(`${network}, blocks \\d+ to \\d+ .*1 transfers? in`))
  expect(output).toContain('agree')
  expect(code, output).toBe(0)
})

test('export and metrics name the network of every sale', async () => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const csv = await (await fetch(`${shop.url}/admin/api/export?format=csv`, { headers })).text()
  const lines = csv.trimEnd().split('\r\n').slice(1)
  expect(lines).toHaveLength(3)
  for (const [index, { network }] of chains.entries()) {
    expect(lines.find((line) => line.includes(sold[index]!))).toContain(network)
  }
  const metrics = await (await fetch(`${shop.url}/metrics`, { headers })).text()
  for (const { network } of chains) {
    expect(metrics).toContain(`svc_rail_available{network="${network}"} 1`)
    expect(metrics).toMatch(
      new RegExp(`svc_payments_total\\{.*outcome="delivered".*network="${network}".*\\} 1`),
    )
  }
})

test('the dashboard shows revenue, wallets and state by network, also on a phone', async () => {
  const visitor = await openVisitor()
  const { page } = visitor
  await page.goto(`${shop.url}/admin`)
  await page.getByLabel('Token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('.figure', { hasText: 'Revenue' }).getByText('$3.00', { exact: true }).waitFor()
  const networks = page.getByRole('table', { name: 'Networks' })
  for (const name of ['Base Sepolia', 'Arbitrum Sepolia', 'Celo Sepolia']) {
    const row = networks.getByRole('row', { name: new RegExp(name) })
    await row.getByText('$1.00').waitFor()
    await row.getByText('Offered').waitFor()
  }
  await expectAccessible(page, 'the dashboard of three networks')
  await page.setViewportSize(PHONE)
  await expectNoSidewaysScroll(page)
  await visitor.close()
})
