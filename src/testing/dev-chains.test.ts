import { afterAll, beforeAll, expect, test } from 'vitest'
import { findNetwork } from '../protocol/networks.ts'
import type { DevChain } from './dev-chain.ts'
import { startDevChains } from './dev-chains.ts'
import { startFacilitator } from './facilitator.ts'
import { paymentPayload, signAuthorization } from './sign.ts'

const SELLER = '0x00000000000000000000000000000000000000AA'

let chains: DevChain[]
let base: DevChain
let arbitrum: DevChain
beforeAll(async () => {
  chains = await startDevChains([84532, 421614])
  ;[base, arbitrum] = chains as [DevChain, DevChain]
})
afterAll(() => Promise.all(chains.map((chain) => chain.stop())))

/** What a seller asks for on this chain, without the token's domain, which the signer knows. */
const requirements = (chain: DevChain) => ({
  scheme: 'exact',
  network: chain.network,
  asset: chain.usdc,
  amount: '1000000',
  payTo: SELLER,
  maxTimeoutSeconds: 900,
  extra: {},
})

async function settle(facilitatorUrl: string, chain: DevChain, account: ReturnType<DevChain['account']>) {
  const accepted = requirements(chain)
  const signed = await signAuthorization({ account: account.account, requirements: accepted })
  const { domain } = findNetwork(chain.network)!.token
  const answer = await fetch(`${facilitatorUrl}/settle`, {
    method: 'POST',
    body: JSON.stringify({
      x402Version: 2,
      paymentPayload: paymentPayload({ accepted, ...signed }),
      paymentRequirements: { ...accepted, extra: domain },
    }),
  })
  return { status: answer.status, body: await answer.json() }
}

test('one key has its own money on each chain, and pays on each through one facilitator', async () => {
  expect(base.account(3).address).toBe(arbitrum.account(3).address)
  const buyer = await base.newBuyer({ micro: 1_000_000n })
  const there = await arbitrum.newBuyer({ micro: 3_000_000n, privateKey: buyer.privateKey })
  expect(there.address).toBe(buyer.address)
  const facilitator = await startFacilitator({ chains })
  for (const chain of chains) {
    expect(await settle(facilitator.url, chain, buyer)).toMatchObject({ body: { success: true } })
  }
  await facilitator.stop()
  expect(await base.balanceOf(buyer.address)).toBe(0n)
  expect(await arbitrum.balanceOf(buyer.address)).toBe(2_000_000n)
})

test('a facilitator refuses a network that is not its own', async () => {
  const buyer = await arbitrum.newBuyer({ micro: 1_000_000n })
  const facilitator = await startFacilitator({ chain: base })
  expect(await settle(facilitator.url, arbitrum, buyer)).toEqual({
    status: 200,
    body: {
      success: false,
      errorReason: 'invalid_network',
      transaction: '',
      network: arbitrum.network,
      payer: buyer.address,
    },
  })
  expect(facilitator.broadcasts).toEqual([])
  await facilitator.stop()
})

test('a chain twice, an unknown one, or no chain at all is refused', async () => {
  await expect(startDevChains([84532, 84532])).rejects.toThrow('chain id 84532 is given twice')
  await expect(startDevChains([5])).rejects.toThrow('chainId is 5; it can be')
  await expect(startFacilitator({})).rejects.toThrow('give a chain, or chains')
})
