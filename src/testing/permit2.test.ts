import { UptoEvmScheme } from '@x402/evm/upto/client'
import { type Abi, type Address, getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { approvePermit2 } from './approve-permit2.ts'
import { type DevAccount, type DevChain, startDevChain } from './dev-chain.ts'
import { PERMIT2_ADDRESS, UPTO_PROXY_ADDRESS } from './permit2.ts'
import permit2 from './test-permit2.json' with { type: 'json' }
import uptoProxy from './test-upto-proxy.json' with { type: 'json' }

interface Signed {
  signature: Hex
  permit2Authorization: {
    from: Address
    permitted: { token: Address; amount: string }
    nonce: string
    deadline: string
    witness: { to: Address; facilitator: Address; validAfter: string }
  }
}

const MAX = 20_000n
// The errors of both: the proxy hands on what Permit2 says.
const abi = [...uptoProxy.abi, ...permit2.abi.filter(({ type }) => type === 'error')] as Abi

let chain: DevChain
let seller: DevAccount
let settler: DevAccount
beforeAll(async () => {
  chain = await startDevChain()
  seller = chain.account(3)
  settler = chain.account(1)
})
afterAll(() => chain.stop())

/** A payment as the official client signs it. */
async function sign(buyer: DevAccount): Promise<Signed> {
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, {
    scheme: 'upto',
    network: chain.network,
    asset: chain.usdc,
    amount: String(MAX),
    payTo: seller.address,
    maxTimeoutSeconds: 300,
    extra: {
      ...{ name: 'USDC', version: '2', assetTransferMethod: 'permit2' },
      facilitatorAddress: settler.address,
    },
  })
  return payload as unknown as Signed
}

async function payer(): Promise<DevAccount> {
  const buyer = await chain.newBuyer({ micro: 5n * MAX })
  await approvePermit2(chain, buyer)
  return buyer
}

/** The hash of the settlement; rejects with the contract's reason. */
async function settle(signed: Signed, amount: bigint, by = settler): Promise<Hex> {
  const { permitted, nonce, deadline, from, witness } = signed.permit2Authorization
  const { request } = await chain.client.simulateContract({
    ...{ account: by.account, address: UPTO_PROXY_ADDRESS, abi, functionName: 'settle' },
    args: [
      {
        permitted: { ...permitted, amount: BigInt(permitted.amount) },
        nonce: BigInt(nonce),
        deadline: BigInt(deadline),
      },
      amount,
      from,
      { ...witness, validAfter: BigInt(witness.validAfter) },
      signed.signature,
    ],
  })
  return chain.client.writeContract(request as Parameters<typeof chain.client.writeContract>[0])
}

const isUsed = async ({ permit2Authorization: { from, nonce } }: Signed): Promise<boolean> => {
  const word = (await chain.client.readContract({
    ...{ address: PERMIT2_ADDRESS, abi: permit2.abi as Abi, functionName: 'nonceBitmap' },
    args: [from, BigInt(nonce) >> 8n],
  })) as bigint
  return ((word >> (BigInt(nonce) & 255n)) & 1n) === 1n
}

test('what the official client signs is settled for exactly the charge, once', async () => {
  const buyer = await payer()
  const before = await chain.balanceOf(seller.address)
  const signed = await sign(buyer)
  expect(await isUsed(signed)).toBe(false)
  await settle(signed, 1858n)
  await expect.poll(() => chain.balanceOf(seller.address)).toBe(before + 1858n)
  expect(await chain.balanceOf(buyer.address)).toBe(5n * MAX - 1858n)
  expect(await isUsed(signed)).toBe(true)
  await expect(settle(signed, 1n)).rejects.toThrow('InvalidNonce')
})

test('nobody else, nothing above the maximum, nothing at all, and nothing late is settled', async () => {
  const buyer = await payer()
  const signed = await sign(buyer)
  await expect(settle(signed, 1n, chain.account(4))).rejects.toThrow('UnauthorizedFacilitator')
  await expect(settle(signed, MAX + 1n)).rejects.toThrow('AmountExceedsPermitted')
  await expect(settle(signed, 0n)).rejects.toThrow('InvalidAmount')
  const change = (more: Partial<Signed['permit2Authorization']>): Signed => ({
    ...signed,
    permit2Authorization: { ...signed.permit2Authorization, ...more },
  })
  const { witness } = signed.permit2Authorization
  await expect(settle(change({ deadline: '1' }), 1n)).rejects.toThrow('SignatureExpired')
  await expect(settle(change({ nonce: '7' }), 1n)).rejects.toThrow('InvalidSigner')
  const elsewhere = getAddress(chain.account(9).address)
  await expect(settle(change({ witness: { ...witness, to: elsewhere } }), 1n)).rejects.toThrow(
    'InvalidSigner',
  )
  const later = { ...witness, validAfter: '99999999999' }
  await expect(settle(change({ witness: later }), 1n)).rejects.toThrow('PaymentTooEarly')
  await expect(settle({ ...signed, signature: '0x1234' }, 1n)).rejects.toThrow('InvalidSignatureLength')
  expect(await isUsed(signed)).toBe(false)
})

test('without allowance, without money, or with its nonce given up, a payment cannot be settled', async () => {
  const poor = await chain.newBuyer({ micro: 5n * MAX })
  await expect(settle(await sign(poor), 1n)).rejects.toThrow('TRANSFER_FROM_FAILED')
  await approvePermit2(chain, poor, 100n)
  await expect(settle(await sign(poor), 101n)).rejects.toThrow('TRANSFER_FROM_FAILED')
  const buyer = await payer()
  const signed = await sign(buyer)
  const nonce = BigInt(signed.permit2Authorization.nonce)
  await chain.client.writeContract({
    ...{ account: buyer.account, address: PERMIT2_ADDRESS, abi: permit2.abi as Abi, chain: null },
    ...{ functionName: 'invalidateUnorderedNonces', args: [nonce >> 8n, 1n << (nonce & 255n)] },
  })
  await expect.poll(() => isUsed(signed)).toBe(true)
  await expect(settle(signed, 1n)).rejects.toThrow('InvalidNonce')
})
