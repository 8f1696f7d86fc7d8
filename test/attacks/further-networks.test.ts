import { type Hex, pad } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PaymentRequirements } from '../../src/protocol/payment.ts'
import type { DevAccount, DevChain } from '../../src/testing/index.ts'
import {
  access,
  askUntil,
  entryOn,
  flowsOn,
  type Shop,
  shopEnv,
  signFor,
  startChains,
  startShop,
  termsOf,
} from '../networks/shop.ts'
import { headerOf, signedPayload } from './forge.ts'

/** The gas of a payment on a local chain is some $0.10 to $0.50 with coins of this price. */
const COIN_USD = '3000'
const LARGE = 100_000_000n

let chains: DevChain[]
let shop: Shop
beforeAll(async () => {
  chains = await startChains(84532, 421614)
  const plans = [
    { planId: 'small', unitAmount: '$0.01' },
    { planId: 'large', unitAmount: '$100.00' },
  ]
  shop = await startShop(shopEnv(chains, { PLANS: JSON.stringify(plans), NATIVE_USD_421614: COIN_USD }))
}, 120_000)
afterAll(async () => {
  await shop?.stop()
  await Promise.all((chains ?? []).map((chain) => chain.stop()))
})

test('attack 58: a small price is not settled on a network whose gas it does not carry, whatever entry is made up for it', async () => {
  const [cheap, dear] = chains as [DevChain, DevChain]
  const buyer = await dear.newBuyer({ micro: 2n * LARGE })
  const large = termsOf(await askUntil(shop.url, { planId: 'large' }, [402]))
  const onDear = entryOn(large, dear)
  const small = termsOf(await askUntil(shop.url, { planId: 'small' }, [402]))
  expect(small.accepts.map(({ network }) => network)).toEqual([cheap.network])

  const offered = entryOn(small, cheap)
  const { network, asset, payTo } = onDear
  const { name, version } = onDear.extra
  const extra = { ...offered.extra, name, version }
  const madeUp: PaymentRequirements = { ...offered, network, asset, payTo, extra }
  const refused = await askUntil(shop.url, { planId: 'small' }, [200, 402], await signFor(buyer, madeUp))
  expect([refused.status, refused.headers.get('x-svc-code')]).toEqual([402, 'PAYMENT_FAILED'])
  expect(JSON.stringify(refused.body)).toContain('Nothing was charged')
  expect(termsOf(refused).accepts.map((entry) => entry.network)).toEqual([cheap.network])
  expect((await flowsOn(dear, buyer)).paid).toBe(0n)

  // What is offered there is paid there.
  const paid = await askUntil(shop.url, { planId: 'large' }, [200, 402], await signFor(buyer, onDear))
  expect(paid.status).toBe(200)
  expect((await flowsOn(dear, buyer)).paid).toBe(LARGE)
})

/** A wallet at this address with another owner, as a factory makes it again on another network. */
async function takeAddress({ client, deployWallet1271 }: DevChain, address: Hex, owner: Hex): Promise<void> {
  const own = await deployWallet1271(owner)
  await client.setCode({ address, bytecode: (await client.getCode({ address: own.address }))! })
  for (const index of ['0x0', '0x1', '0x2'] as const) {
    const value = await client.getStorageAt({ address: own.address, slot: index })
    await client.setStorageAt({ address, index: pad(index), value: pad(value!) })
  }
}

test('attack 60: code at the address of a payer on another network does not get what was paid for', async () => {
  const [first, second] = chains as [DevChain, DevChain]
  const [victim, thief] = [await first.newBuyer(), await second.newBuyer()]
  const wallet = await first.deployWallet1271(victim.address)
  await first.mint(wallet.address, LARGE)
  const order = { planId: 'large', requestId: 'known-to-others' }
  const from = { from: wallet.address }
  const terms = termsOf(await askUntil(shop.url, order, [402]))
  const sign = async (owner: DevAccount, chain: DevChain) =>
    headerOf(await signedPayload(owner, entryOn(terms, chain), from))
  const bought = await askUntil(shop.url, order, [200], await sign(victim, first))
  expect(bought.body).toHaveProperty('accessToken')

  await takeAddress(second, wallet.address, thief.address)
  const stolen = await access(shop.url, order, await sign(thief, second))
  expect([stolen?.status, JSON.stringify(stolen?.body)]).toEqual([
    400,
    expect.stringContaining('INVALID_PROOF'),
  ])
  expect(JSON.stringify(stolen?.body)).not.toContain('accessToken')
  // Its owner is known by another signature where it was paid.
  const again = await askUntil(shop.url, order, [200], await sign(victim, first))
  expect(again.body).toMatchObject({ accessToken: expect.any(String) })
  expect((await flowsOn(first, { address: wallet.address } as DevAccount)).paid).toBe(LARGE)
})
