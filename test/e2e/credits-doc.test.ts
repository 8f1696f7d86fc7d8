import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { startBackend, type TestBackend } from './routes-world.ts'
import { eventually, freePort } from './world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/credits.md'), 'utf8')
const commands = /^```sh\n([\s\S]*?)^```/m.exec(page)?.[1] ?? ''

let chain: DevChain
let backend: TestBackend
const cleanups: Array<() => unknown> = []
beforeAll(async () => {
  ;[chain, backend] = await Promise.all([startDevChain(), startBackend()])
  cleanups.push(
    () => chain.stop(),
    () => backend.stop(),
  )
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

/** The variables of the page, with a wallet, an API and a chain that exist; a shell reads them, as a reader's would. */
async function openShop(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'paystile-credits-'))
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }))
  const port = await freePort()
  const seller = chain.account(0)
  const script = commands
    .replace('0x…', seller.address)
    .replace('http://localhost:8080', backend.url)
    .replace('npx paystile', `exec "${process.execPath}" "${join(root, 'dist/cli/main.js')}"`)
  const run = spawn('sh', ['-c', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH ?? '',
      PORT: String(port),
      DATA_DIR: dataDir,
      SVC_MANAGED_INFRA: 'none',
      SVC_NETWORK: chain.network,
      RPC_URL: chain.rpcUrl,
      GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    },
  })
  const exited = once(run, 'exit')
  cleanups.push(() => run.kill() && exited)
  const url = `http://localhost:${port}`
  await eventually(async () => {
    if (run.exitCode !== null) throw new Error(`the shop stopped with code ${run.exitCode}`)
    return (await fetch(`${url}/ready`).catch(() => undefined))?.ok
  })
  return url
}

test('the shop of docs/credits.md, started as it says, sells a thousand calls for one payment', async () => {
  const url = await openShop()
  const { account, address } = await chain.newBuyer({ micro: 2_000_000n })
  const rpcUrls = { [chain.network]: chain.rpcUrl }
  const buyer = createBuyer({ account, maxAmount: '$0.05', maxPlanAmount: '$1.00', credits: 'buy', rpcUrls })
  for (const remaining of ['999', '998', '997']) {
    const answer = await buyer.fetch(`${url}/weather/oslo`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-svc-credits-remaining')).toBe(remaining)
  }
  expect(backend.seen.map(({ headers }) => headers['x-svc-credits'])).toEqual(['1', '1', '1'])
  expect(await chain.balanceOf(address), 'one dollar went').toBe(1_000_000n)
})
