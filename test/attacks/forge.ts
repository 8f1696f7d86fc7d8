import { concat, decodeFunctionData, type Hex, numberToHex, parseAbi } from 'viem'
import type { PaymentRequirements } from '../../src/protocol/payment.ts'
import {
  type Authorization,
  type DevAccount,
  MULTICALL3_ADDRESS,
  paymentPayload,
  signAuthorization,
  usdcAbi,
} from '../../src/testing/index.ts'
import type { SignOverrides, World } from '../e2e/world.ts'

/** A payment as an attacker may bend it before it is encoded. */
export interface Payload {
  network?: string
  scheme?: string
  payload: { signature: Hex; authorization: Authorization; from?: string }
  accepted: PaymentRequirements
}

export async function signedPayload(
  account: DevAccount,
  accepted: PaymentRequirements,
  overrides: SignOverrides = {},
): Promise<Payload> {
  const signed = await signAuthorization({ account: account.account, requirements: accepted, overrides })
  return paymentPayload({ accepted, ...signed }) as unknown as Payload
}

export const headerOf = (payload: unknown): string => Buffer.from(JSON.stringify(payload)).toString('base64')

/** How much the gateway has asked anybody to send so far: equal before and after means that nothing was sent. */
export async function sendsOf({ chain, facilitator }: World): Promise<number> {
  const gasWallet = chain.account(1).address
  const sent = await chain.client.getTransactionCount({ address: gasWallet, blockTag: 'pending' })
  return sent + (facilitator?.calls.settle ?? 0)
}

const aggregateAbi = parseAbi([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) payable returns ((bool success, bytes returnData)[])',
])

/** What everybody can read of a settled payment: the authorization and its signature, out of the calldata. */
export async function readCalldata(
  { chain }: World,
  hash: string,
): Promise<{ authorization: Authorization; signature: Hex }> {
  const { input, to } = await chain.client.getTransaction({ hash: hash as Hex })
  const packed = to?.toLowerCase() === MULTICALL3_ADDRESS.toLowerCase()
  const data = packed ? decodeFunctionData({ abi: aggregateAbi, data: input }).args[0][0]!.callData : input
  const { functionName, args } = decodeFunctionData({ abi: usdcAbi, data })
  if (functionName !== 'transferWithAuthorization') throw new Error(`no payment but ${functionName}`)
  const [from, payTo, value, validAfter, validBefore, nonce] = args
  const authorization = {
    from,
    to: payTo,
    value: String(value),
    validAfter: String(validAfter),
    validBefore: String(validBefore),
    nonce,
  }
  if (args.length === 7) return { authorization, signature: args[6] }
  const [, , , , , , v, r, s] = args
  return { authorization, signature: concat([r, s, numberToHex(v)]) }
}

/** Sends an authorization to the token without the gateway. Its block may come a moment later. */
export async function submitAlone(
  { chain }: World,
  { authorization: a, signature }: { authorization: Authorization; signature: Hex },
  fees: { maxPriorityFeePerGas?: bigint; maxFeePerGas?: bigint } = {},
): Promise<Hex> {
  return chain.client.writeContract({
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transferWithAuthorization',
    args: [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce, signature],
    account: chain.account(7).address,
    gas: 200_000n,
    ...fees,
  })
}
