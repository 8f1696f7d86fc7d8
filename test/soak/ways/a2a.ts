import type { Hex } from 'viem'
import { type DevAccount, usdcAbi } from '../../../src/testing/index.ts'
import { dataOf, type RpcAnswer, rawAgent, requiredOf, X402_V02 } from '../../e2e/a2a-agent.ts'
import type { Said } from '../deal.ts'
import { askTerms, type Market, newDeal, post, signExact, type Way } from '../market.ts'
import { readFields } from '../read-answer.ts'

/** Only what it says is used: where it goes is chosen for every message. */
const agent = rawAgent('')

async function send(origin: string, params: unknown, signal: AbortSignal): Promise<RpcAnswer> {
  const message = { jsonrpc: '2.0', id: 1, method: 'message/send', params }
  const response = await fetch(`${origin}/a2a`, {
    ...post(message, { 'X-A2A-Extensions': X402_V02 }),
    signal,
  })
  const body = (await response.json()) as Omit<RpcAnswer, 'httpStatus' | 'headers'>
  return { ...body, httpStatus: response.status, headers: response.headers }
}

function read({ httpStatus, result, error }: RpcAnswer): Said {
  const fields = (dataOf(result) ?? error?.data ?? {}) as { httpStatus?: number; code?: string }
  const text = JSON.stringify(result ?? error ?? null)
  // An internal error of JSON-RPC says that nothing was decided.
  if (error?.code === -32603) return { kind: 'pending', text }
  if (fields.code === undefined && result?.status.state === 'working') return { kind: 'pending', text }
  return readFields(fields, fields.httpStatus ?? httpStatus, text)
}

function askPlan(market: Market, name: string, pick = market.pick) {
  return askTerms(
    market,
    async (origin, signal) => {
      const { result } = await send(origin, agent.asking({ planId: 'basic', requestId: name }), signal)
      return requiredOf(result)
    },
    pick,
  )
}

export const planByA2a: Way = async (market, wallet, name) => {
  const required = await askPlan(market, name)
  if (!required) return undefined
  const accepted = required.accepts[0]!
  const payload = (await signExact(wallet, accepted)) as Record<string, unknown>
  return newDeal(wallet, {
    way: 'a2a plan',
    challengeId: required.challengeId,
    requestId: name,
    priceMicro: BigInt(accepted.amount),
    send: async (origin, signal) => read(await send(origin, agent.paying(payload), signal)),
  })
}

/**
 * Pays by a plain transfer of its own, and proves it: the money has moved before the shop hears of it. The offer comes from
 * an instance whose clock is right: a transfer that is older than its offer proves nothing, and to a clock that is ahead
 * every transfer is.
 */
export const planByTransfer: Way = async (market, wallet, name) => {
  let asked = { origin: '', at: 0 }
  const required = await askPlan(market, name, () => {
    asked = { origin: market.pickSteady(), at: Date.now() }
    return asked.origin
  })
  // A clock may be put forward between the choice and the offer.
  if (!required || !market.wasSteady(asked.origin, asked.at)) return undefined
  const { challengeId } = required
  const { payTo, amount } = required.accepts[0]!
  const txHash = await transfer(market, wallet, payTo as Hex, BigInt(amount))
  const signature = await wallet.account.signMessage({ message: `${challengeId}:${txHash}` })
  const proof = { type: 'PaymentProof', challengeId, txHash, signature }
  // The record of an offer that nobody pays is deleted: a buyer who may come late repeats what it asked for.
  const order = { type: 'AccessRequest', planId: 'basic', requestId: name }
  const proofParts = [proof, order].map((data) => ({ kind: 'data', data }))
  return newDeal(wallet, {
    way: 'a2a transfer',
    challengeId,
    requestId: name,
    priceMicro: BigInt(amount),
    send: async (origin, signal) => read(await send(origin, agent.message(proofParts), signal)),
  })
}

async function transfer({ chain }: Market, { account }: DevAccount, to: Hex, value: bigint): Promise<Hex> {
  return chain.client.writeContract({
    ...{ account, chain: null, address: chain.usdc, abi: usdcAbi },
    // Enough for every order of transactions in its block: the first payment to a seller costs more than the others.
    ...{ functionName: 'transfer', args: [to, value], gas: 200_000n },
  })
}
