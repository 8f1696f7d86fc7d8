import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { freePort } from './world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const section = readFileSync(join(root, 'README.md'), 'utf8').split('## Embed it')[1] ?? ''
const shop = /^```ts\n([\s\S]*?)^```/m.exec(section)?.[1] ?? ''

let chain: DevChain
const cleanups: Array<() => unknown> = []
beforeAll(async () => {
  chain = await startDevChain()
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
  await chain.stop()
})

/** A folder of a newcomer's own, with what `npm install` would put there. */
async function openShop(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-readme-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/paystile'), 'junction')
  symlinkSync(join(root, 'node_modules/express'), join(folder, 'node_modules/express'), 'junction')
  writeFileSync(join(folder, 'shop.mjs'), shop)
  const port = String(await freePort())
  const seller = chain.account(0)
  const run = spawn(process.execPath, ['shop.mjs'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH ?? '',
      PORT: port,
      RPC_URL: chain.rpcUrl,
      WALLET_ADDRESS: seller.address,
      REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
      GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
      TOKEN_SECRET: 'a secret of more than thirty-two bytes',
    },
  })
  const exited = once(run, 'exit')
  cleanups.push(() => run.kill() && exited)
  const [line] = await Promise.race([
    once(run.stdout, 'data'),
    exited.then(([code]) => Promise.reject(new Error(`the shop stopped with code ${code}`))),
  ])
  expect(String(line)).toBe(`Selling at http://localhost:${port}\n`)
  return `http://localhost:${port}`
}

test('the shop of the README, saved and started as it says, sells a call and a plan', async () => {
  const url = await openShop()
  const { account, address } = await chain.newBuyer({ micro: 1_000_000n })
  const buyer = createBuyer({ account, maxAmount: '$1.00' })
  expect((await fetch(`${url}/weather/paris`)).status).toBe(402)
  const answer = await buyer.fetch(`${url}/weather/paris`)
  expect(await answer.json()).toMatchObject({ city: 'paris', paidBy: address.toLowerCase() })

  const { grant } = await buyer.buy(url, { planId: 'hourly', resourceId: 'europe' })
  const headers = { authorization: `Bearer ${grant.accessToken}` }
  const opened = await fetch(grant.resourceEndpoint, { headers })
  expect(await opened.json()).toMatchObject({ resource: 'europe' })
  expect((await fetch(`${url}/resource/asia`, { headers })).status).toBe(401)
  expect(await chain.balanceOf(address), 'a cent and 25 cents went').toBe(740_000n)
})
