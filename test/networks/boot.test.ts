import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { optionsFromEnv } from '../../src/config/from-env.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import type { DevChain } from '../../src/testing/index.ts'
import { eventually, freePort } from '../e2e/world.ts'
import { entryOn, PRICE, shopEnv, signFor, startChains } from './shop.ts'

let chains: DevChain[]
let dataDir: string
beforeAll(async () => {
  chains = await startChains(84532, 421614, 11142220, 1328)
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-boot-'))
}, 120_000)
afterAll(async () => {
  await Promise.all((chains ?? []).map((chain) => chain.stop()))
  await rm(dataDir, { recursive: true, force: true })
})

async function open(env: NodeJS.ProcessEnv): Promise<{ gateway: Gateway; alerts: string[]; tookMs: number }> {
  const alerts: string[] = []
  const { options, source } = optionsFromEnv(env as Record<string, string>, () => '')
  const startedMs = performance.now()
  const gateway = await createGateway(
    { ...options, onAlert: (kind, message) => alerts.push(`${kind}: ${message}`) },
    source,
  )
  return { gateway, alerts, tookMs: performance.now() - startedMs }
}

/** Networks that nobody answers for. */
async function deadNetworks(): Promise<Array<{ id: string; name: string } & Record<string, unknown>>> {
  const describe = async (chainId: number) => ({
    id: `eip155:${chainId}`,
    name: `Nowhere ${chainId}`,
    testnet: true,
    rpcUrl: `http://127.0.0.1:${await freePort()}`,
    explorerTxUrl: 'https://scan.example/tx/',
    token: { address: chains[0]!.usdc, decimals: 6, domain: { name: 'USDC', version: '2' } },
  })
  return Promise.all([990_001, 990_002].map(describe))
}

describe('a gateway with six networks', () => {
  test('of which two are dead starts within five seconds, names them, and sells on the others', async () => {
    const dead = await deadNetworks()
    const env = shopEnv(chains, { DATA_DIR: join(dataDir, 'six'), NETWORKS: JSON.stringify(dead) })
    env.SVC_NETWORK = [...chains.map(({ network }) => network), ...dead.map(({ id }) => id)].join(',')
    let opened = await open(env)
    // On a machine that is busy with other tests one start may be slow, but not each of three.
    for (let tries = 1; tries < 3 && opened.tookMs >= 5_000; tries++) {
      await opened.gateway.close()
      opened = await open(env)
    }
    const { gateway, alerts, tookMs } = opened
    try {
      expect(tookMs).toBeLessThan(5_000)
      for (const { name } of dead) expect(alerts.join('\n')).toContain(name)
      const offered = await gateway.purchase({ transport: 'http', planId: 'basic' })
      if (offered.kind !== 'challenge') throw new Error(JSON.stringify(offered))
      expect(offered.offer.rails.map(({ network }) => network.id)).toEqual(
        chains.map(({ network }) => network),
      )
      const ready = await gateway.fetch(new Request('http://localhost/ready'))
      expect(ready.status).toBe(200)
      const told = await ready.text()
      for (const { id } of dead) expect(told).toContain(id)
      // Their sales are exported for years, whatever is configured then.
      const described = await gateway.backstage.store.list('books', 'networks')
      expect(described).toMatchObject(dead.map(({ id, name, testnet }) => ({ id, name, testnet })))
    } finally {
      await gateway.close()
    }
  })
})

describe('a network that is taken out of the configuration', () => {
  test('while a refund waits there is a fault that names it; with it the refund is paid, and then it may go', async () => {
    const [first, second] = [chains[0]!, chains[1]!]
    const folder = join(dataDir, 'left')
    const env = (networks: DevChain[], more = {}) =>
      shopEnv(networks, {
        DATA_DIR: folder,
        ISSUE_TOKEN_API: 'http://127.0.0.1:9/',
        TOKEN_SECRET: '',
        ...more,
      })
    const buyer = await second.newBuyer({ micro: PRICE })
    const paused = { REFUND_WALLET_PRIVATE_KEY: '' }
    const { gateway } = await open(env([first, second], paused))
    const body = { planId: 'basic', requestId: 'left-behind' }
    const ask = (headers: Record<string, string> = {}) =>
      gateway.fetch(
        new Request('http://localhost/x402/access', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        }),
      )
    const required = (await (await ask()).json()) as PaymentRequired
    await ask({ 'payment-signature': await signFor(buyer, entryOn(required, second)) })
    await eventually(async () => (await gateway.status(required.challengeId))?.state === 'REFUND_PENDING')
    await gateway.close()

    await expect(open(env([first], paused))).rejects.toThrow(
      new RegExp(`^SVC_NETWORK does not name ${second.network} \\(Arbitrum Sepolia\\), where .*1 refund`),
    )
    const again = await open(env([first, second]))
    await eventually(async () => {
      await second.mine(1)
      return (await again.gateway.status(required.challengeId))?.state === 'REFUNDED'
    })
    expect(await second.balanceOf(buyer.address)).toBe(PRICE)
    await eventually(async () => {
      await second.mine(1)
      const receipts = await again.gateway.backstage.store.list('receipts', required.challengeId)
      const open = await again.gateway.backstage.store.list(
        'walletTxs',
        `${second.chainId}:${second.account(1).address.toLowerCase()}`,
      )
      return receipts.every(({ finalized }) => finalized) && open.length === 0
    })
    await again.gateway.close()
    await (await open(env([first]))).gateway.close()
  }, 120_000)
})
