import { z } from 'zod'
import { decodeJsonObject } from '../protocol/base64.ts'
import { PaymentPayloadSchema } from '../protocol/payment.ts'
import { readDocument } from './capped-body.ts'
import type { StoredPayment } from './payment-storage.ts'

/** What may still become of a signed authorization. `unused` is for good: no block can take it any more. */
export type Fate =
  | { kind: 'unused' }
  /** Used, or cancelled by its payer: the token does not tell the two apart here. */
  | { kind: 'used' }
  | { kind: 'open'; untilMs: number }
  | { kind: 'unknown'; why: string }

/** Between `validBefore` and our word that nothing happened: clocks differ, and the newest blocks can be replaced. */
const MARGIN_SECONDS = 30
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
  return (Number(payment.validBefore) + MARGIN_SECONDS) * 1000
}

/**
 * Asks the chain what became of a payment, once its time is over: a seller's word that nothing was taken proves
 * nothing, since whoever has the authorization can use it until `validBefore`.
 */
export async function authorizationFate(
  fetchOnce: typeof fetch,
  payment: StoredPayment,
  rpcUrl: string | undefined,
  nowMs: number,
): Promise<Fate> {
  const untilMs = expiryMs(payment)
  if (nowMs < untilMs) return { kind: 'open', untilMs }
  if (rpcUrl === undefined) {
    return { kind: 'unknown', why: `no RPC of ${payment.network} is known; name one in rpcUrls` }
  }
  const { from, nonce, asset } = authorizationOf(payment)
  const ask = (method: string, params: unknown[]) => call(fetchOnce, rpcUrl, method, params)
  try {
    const chainId = Number(await ask('eth_chainId', []))
    if (`eip155:${chainId}` !== payment.network) {
      return { kind: 'unknown', why: `the RPC is of eip155:${chainId} and the payment of ${payment.network}` }
    }
    const block = BlockSchema.parse(await ask('eth_getBlockByNumber', ['latest', false]))
    const data = `${AUTHORIZATION_STATE}${from.slice(2).padStart(64, '0')}${nonce.slice(2)}`
    // At that very block: behind one address there may be nodes of different heights.
    const state = await ask('eth_call', [{ to: asset, data }, block.number])
    if (state === YES) return { kind: 'used' }
    if (state !== NO) return { kind: 'unknown', why: 'the RPC does not know the token' }
    return Number(block.timestamp) * 1000 < untilMs ? { kind: 'open', untilMs } : { kind: 'unused' }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { kind: 'unknown', why: `the RPC of ${payment.network} could not be asked (${why})` }
  }
}

async function call(
  fetchOnce: typeof fetch,
  rpcUrl: string,
  method: string,
  params: unknown[],
): Promise<unknown> {
  const response = await fetchOnce(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
  })
  const { result } = JSON.parse((await readDocument(response)) ?? '') as { result?: unknown }
  if (result === undefined || result === null)
    throw new Error(`${method} answered HTTP ${response.status} without a result`)
  return result
}
