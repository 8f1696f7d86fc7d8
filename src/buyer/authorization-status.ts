import { z } from 'zod'
import { decodeJsonObject } from '../protocol/base64.ts'
import { NETWORKS } from '../protocol/networks.ts'
import { PaymentPayloadSchema } from '../protocol/payment.ts'
import type { StoredPayment } from './payment-storage.ts'
import { askNodes, rpcCall, type Unknown } from './rpc-call.ts'

/** The status of a signed authorization on chain. `unused` is final: no block can accept it any more. */
export type AuthorizationStatus =
  | { kind: 'unused' }
  /** Used, or cancelled by its payer: the token's answer is the same for both. */
  | { kind: 'used' }
  | { kind: 'open'; untilMs: number }
  | Unknown

/** Time after `validBefore` before "unused" is reported: clocks differ, and the newest blocks can be replaced. */
const MARGIN_MS = 30_000
/** Where blocks are slow, the margin is this many of them. */
const MARGIN_BLOCKS = 15
const RPC_TIMEOUT_MS = 15_000
const AUTHORIZATION_STATE = '0xe94a0102'
const [NO, YES] = [`0x${'0'.repeat(64)}`, `0x${'0'.repeat(63)}1`]

const BlockSchema = z.object({ number: z.string(), timestamp: z.string() })

/** The authorization within a payment that we signed. */
export function authorizationOf(payment: StoredPayment) {
  const { payload, accepted } = PaymentPayloadSchema.parse(decodeJsonObject(payment.header))
  return { ...payload.authorization, asset: accepted?.asset }
}

/** When the chain can be asked whether a payment has expired unused. */
export function expiryMs(payment: StoredPayment): number {
  const { blockMs = 0 } = NETWORKS.find(({ id }) => id === payment.network) ?? {}
  return Number(payment.validBefore) * 1000 + Math.max(MARGIN_MS, MARGIN_BLOCKS * blockMs)
}

/**
 * Asks the chain for the status of a payment after its validity. A seller's statement that nothing was taken proves
 * nothing, because anybody that has the authorization can use it until `validBefore`.
 */
export async function authorizationStatus(
  fetchOnce: typeof fetch,
  payment: StoredPayment,
  rpcUrls: readonly string[],
  nowMs: number,
): Promise<AuthorizationStatus> {
  const untilMs = expiryMs(payment)
  if (nowMs < untilMs) return { kind: 'open', untilMs }
  if (rpcUrls.length === 0) {
    return { kind: 'unknown', why: `no RPC of ${payment.network} is known; name one in rpcUrls` }
  }
  return askNodes(rpcUrls, (rpcUrl) => statusAt(rpcUrl, fetchOnce, payment, untilMs))
}

async function statusAt(
  rpcUrl: string,
  fetchOnce: typeof fetch,
  payment: StoredPayment,
  untilMs: number,
): Promise<AuthorizationStatus> {
  const { from, nonce, asset } = authorizationOf(payment)
  const ask = (method: string, params: unknown[]) =>
    rpcCall(fetchOnce, rpcUrl, method, params, AbortSignal.timeout(RPC_TIMEOUT_MS))
  try {
    const chainId = Number(await ask('eth_chainId', []))
    if (`eip155:${chainId}` !== payment.network) {
      return { kind: 'unknown', why: `the RPC is of eip155:${chainId} and the payment of ${payment.network}` }
    }
    const block = BlockSchema.parse(await ask('eth_getBlockByNumber', ['latest', false]))
    const data = `${AUTHORIZATION_STATE}${from.slice(2).padStart(64, '0')}${nonce.slice(2)}`
    // Read at the same block, because nodes behind one address may have different heights.
    const state = await ask('eth_call', [{ to: asset, data }, block.number])
    if (state === YES) return { kind: 'used' }
    if (state !== NO) return { kind: 'unknown', why: 'the RPC does not know the token' }
    return Number(block.timestamp) * 1000 < untilMs ? { kind: 'open', untilMs } : { kind: 'unused' }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { kind: 'unknown', why: `the RPC of ${payment.network} could not be asked (${why})` }
  }
}
