import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CREATE2_DEPLOYER, SETTLER, SETTLER_CODE, SETTLER_DEPLOY_DATA } from '../../src/chain/settler.ts'
import type { Address, Hex } from '../../src/protocol/hex.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import type { SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import { encodePacked } from '../../src/schemes/exact/packed-transfers.ts'
import { type DevChain, startDevChain } from '../../src/testing/dev-chain.ts'
import { SELLER, signTransfer } from './sign-transfer.ts'

const token = findNetwork('testnet')!.token.address
const OTHER: Address = '0x00000000000000000000000000000000000000bb'
const MALFORMED = '0x07b6ad3f'

let dev: DevChain
beforeAll(async () => {
  dev = await startDevChain()
  const hash = await dev.client.sendTransaction({
    account: dev.account(1).account,
    to: CREATE2_DEPLOYER,
    data: SETTLER_DEPLOY_DATA,
  })
  await mined(hash)
})
afterAll(() => dev.stop())

/** Asks again and again: viem's own wait does so only when another block comes, and here none does. */
async function mined(hash: Hex) {
  for (;;) {
    const receipt = await dev.client.getTransactionReceipt({ hash }).catch(() => undefined)
    if (receipt) return receipt
  }
}

async function settle(data: Hex, gas = 2_000_000n) {
  const hash = await dev.client.sendTransaction({
    account: dev.account(1).account,
    to: SETTLER,
    data,
    gas,
  })
  return mined(hash)
}

const good = async (overrides?: Parameters<typeof signTransfer>[1]) =>
  signTransfer(await dev.newBuyer({ micro: 5000n }), overrides)

const goodOnes = (count: number): Promise<SignedAuthorization[]> =>
  Promise.all(Array.from({ length: count }, () => good()))

/** What the seller gains by this. */
async function gain(run: () => Promise<unknown>): Promise<bigint> {
  const before = await dev.balanceOf(SELLER)
  await run()
  return (await dev.balanceOf(SELLER)) - before
}

test('the deployment proxy puts the committed code at the committed address', async () => {
  expect(await dev.client.getCode({ address: SETTLER })).toBe(SETTLER_CODE)
})

test('everyone in a batch pays, each to whom they signed for, and only the token logs', async () => {
  const auths = [...(await goodOnes(3)), await good({ to: OTHER }), await good()]
  const { logs, status } = await settle(encodePacked(token, auths))
  expect(status).toBe('success')
  expect(await dev.balanceOf(SELLER)).toBe(4000n)
  expect(await dev.balanceOf(OTHER)).toBe(1000n)
  // AuthorizationUsed and Transfer, next to each other, as by any other way.
  expect(logs.map(({ address }) => address)).toEqual(Array(10).fill(token))
  expect(await dev.client.getBalance({ address: SETTLER })).toBe(0n)
  expect(await dev.balanceOf(SETTLER)).toBe(0n)
})

describe('a member that fails harms no other', () => {
  const bad: Record<string, () => Promise<SignedAuthorization>> = {
    'a signature of somebody else': async () => {
      const [mine, theirs] = [await good(), await good()]
      return { ...mine, signature: theirs.signature }
    },
    'a nonce that is used': async () => {
      const used = await good()
      await settle(encodePacked(token, [used]))
      return used
    },
    'an expired authorization': () => good({ validBefore: '1000' }),
    'one that is not valid yet': () => good({ validAfter: String(2 ** 35), validBefore: String(2 ** 36) }),
    'no balance': async () => signTransfer(await dev.newBuyer()),
    'a blacklisted payer': async () => {
      const buyer = await dev.newBuyer({ micro: 5000n })
      await dev.blacklist(buyer.address)
      return signTransfer(buyer)
    },
    'a v that no signature has': async () => {
      const auth = await good()
      return { ...auth, signature: `${auth.signature.slice(0, -2)}ff` as Hex }
    },
  }
  test.each(Object.entries(bad))('%s', async (_, make) => {
    const failing = await make()
    for (const place of [0, 1, 2]) {
      const auths = await goodOnes(2)
      auths.splice(place, 0, failing)
      expect(await gain(() => settle(encodePacked(token, auths)))).toBe(2000n)
    }
  })

  test('a paused token refuses all of them, and the transaction still succeeds', async () => {
    const auths = await goodOnes(2)
    await dev.pauseToken()
    try {
      const { status, logs } = await settle(encodePacked(token, auths))
      expect([status, logs.length]).toEqual(['success', 0])
    } finally {
      await dev.unpauseToken()
    }
    expect(await gain(() => settle(encodePacked(token, auths)))).toBe(2000n)
  })

  test.each([0, 1, 2, 3])('a wallet that burns all its gas, at place %i of 4', async (place) => {
    const owner = await dev.newBuyer()
    const burner = await dev.deployWallet1271(owner.address)
    await dev.mint(burner.address, 5000n)
    await burner.setMode('burns-gas')
    const auths = await goodOnes(3)
    auths.splice(place, 0, await signTransfer(owner, { from: burner.address }))
    // As much as the gas wallet gives a batch of four.
    const gas = 40_000n + 4n * 120_000n
    expect(await gain(() => settle(encodePacked(token, auths), gas))).toBe(3000n)
  })
})

describe('input of another shape reverts as a whole', () => {
  const changes: Record<string, (data: Hex) => string> = {
    nothing: () => '0x',
    'the token alone': (data) => data.slice(0, 2 + 40),
    'cut short by a byte': (data) => data.slice(0, -2),
    'cut short by a member': (data) => data.slice(0, -2 * 139),
    'a header that is cut off in its count': (data) => `${data}${'00'.repeat(20)}01`,
    'a byte too many': (data) => `${data}00`,
    'a group of nobody behind it': (data) => `${data}${'11'.repeat(20)}0000`,
    'a group of nobody before it': (data) => `${data.slice(0, 42)}${'11'.repeat(20)}0000${data.slice(42)}`,
    'a count that is too high': (data) => `${data.slice(0, 82)}0003${data.slice(86)}`,
    'a count that is too low': (data) => `${data.slice(0, 82)}0001${data.slice(86)}`,
    'the largest count': (data) => `${data.slice(0, 82)}ffff${data.slice(86)}`,
  }
  test.each(Object.entries(changes))('%s', async (_, change) => {
    const data = change(encodePacked(token, await goodOnes(2))) as Hex
    const call = { account: dev.account(1).address, to: SETTLER, data }
    await expect(dev.client.call(call)).rejects.toThrow(MALFORMED)
    expect(await gain(async () => expect((await settle(data)).status).toBe('reverted'))).toBe(0n)
  })

  test('it takes no coins', async () => {
    const data = encodePacked(token, await goodOnes(1))
    const call = { account: dev.account(1).address, to: SETTLER, data, value: 1n }
    await expect(dev.client.call(call)).rejects.toThrow(/revert/)
    await expect(dev.client.call({ ...call, data: '0x' })).rejects.toThrow(/revert/)
  })
})
