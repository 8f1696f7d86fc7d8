import { z } from 'zod'
import type { Hex } from '../protocol/hex.ts'
import { NETWORKS } from '../protocol/networks.ts'
import { PERMIT2_ADDRESS } from '../protocol/permit2.ts'
import type { StoredPayment } from './payment-storage.ts'
import { askNodes, rpcCall, type Unknown } from './rpc-call.ts'
import { signedPayment } from './signed-payment.ts'

/** The status of a signed authorization on chain. `unused` is final: no block can accept it any more. */
export type AuthorizationStatus =
  | { kind: 'unused' }
  /** Used, or cancelled by its payer: the chain's answer is the same for both. */
  | { kind: 'used' }
  | { kind: 'open'; untilMs: number }
  | Unknown

/** Time after `validBefore` before "unused" is reported: clocks differ, and the newest blocks can be replaced. */
const MARGIN_MS = 30_000
/** Where blocks are slow, the margin is this many of them. */
const MARGIN_BLOCKS = 15
const RPC_TIMEOUT_MS = 15_000
const AUTHORIZATION_STATE = '0xe94a0102'
const NONCE_BITMAP = '0x4fe02b44'
const WORD = /^0x[0-9a-f]{64}$/i

const BlockSchema = z.object({ number: z.string(), timestamp: z.string() })

/** What the chain is asked about a signature. */
interface UseQuestion {
  call: { to: Hex; data: Hex }
  /** Undefined: this cannot be the answer. */
  isUsed(word: bigint): boolean | undefined
  /** Who answers, if it is there. */
  who: string
}

const hexWord = (value: string): string => value.padStart(64, '0')

/** Asks Permit2, which keeps a bit for each nonce of a payer. */
export function askPermit(from: Hex, nonce: bigint): UseQuestion {
  const data: Hex = `${NONCE_BITMAP}${hexWord(from.slice(2))}${hexWord((nonce >> 8n).toString(16))}`
  return {
    call: { to: PERMIT2_ADDRESS, data },
    isUsed: (word) => ((word >> (nonce & 255n)) & 1n) === 1n,
    who: 'Permit2',
  }
}

function questionOf(payment: StoredPayment): UseQuestion {
  const signed = signedPayment(payment)
  if (signed.scheme === 'upto') return askPermit(signed.from, signed.nonce)
  const { from, nonce, asset } = signed
  return {
    call: { to: asset as Hex, data: `${AUTHORIZATION_STATE}${hexWord(from.slice(2))}${nonce.slice(2)}` },
    isUsed: (word) => (word === 1n ? true : word === 0n ? false : undefined),
    who: 'the token',
  }
}

/** When the chain can be asked whether a payment has expired unused. */
export function expiryMs({ network, validBefore }: Pick<StoredPayment, 'network' | 'validBefore'>): number {
  const { blockMs = 0 } = NETWORKS.find(({ id }) => id === network) ?? {}
  return Number(validBefore) * 1000 + Math.max(MARGIN_MS, MARGIN_BLOCKS * blockMs)
}

/**
 * Asks the chain for the status of a payment after its validity. A seller's statement that nothing was taken proves
 * nothing, because anybody that has the authorization can use it until `validBefore`, and a metered one its facilitator.
 */
export function authorizationStatus(
  fetchOnce: typeof fetch,
  payment: StoredPayment,
  rpcUrls: readonly string[],
  nowMs: number,
): Promise<AuthorizationStatus> {
  return useStatus(fetchOnce, payment, () => questionOf(payment), rpcUrls, nowMs)
}

/** The same for what is known of a payment without its header. */
export async function useStatus(
  fetchOnce: typeof fetch,
  validity: Pick<StoredPayment, 'network' | 'validBefore'>,
  question: () => UseQuestion,
  rpcUrls: readonly string[],
  nowMs: number,
): Promise<AuthorizationStatus> {
  const untilMs = expiryMs(validity)
  const { network } = validity
  if (nowMs < untilMs) return { kind: 'open', untilMs }
  if (rpcUrls.length === 0) {
    return { kind: 'unknown', why: `no RPC of ${network} is known; name one in rpcUrls` }
  }
  const asked = question()
  return askNodes(rpcUrls, (rpcUrl) => statusAt(rpcUrl, fetchOnce, network, asked, untilMs))
}

async function statusAt(
  rpcUrl: string,
  fetchOnce: typeof fetch,
  network: string,
  { call, isUsed, who }: UseQuestion,
  untilMs: number,
): Promise<AuthorizationStatus> {
  const ask = (method: string, params: unknown[]) =>
    rpcCall(fetchOnce, rpcUrl, method, params, AbortSignal.timeout(RPC_TIMEOUT_MS))
  try {
    const chainId = Number(await ask('eth_chainId', []))
    if (`eip155:${chainId}` !== network) {
      return { kind: 'unknown', why: `the RPC is of eip155:${chainId} and the payment of ${network}` }
    }
    const block = BlockSchema.parse(await ask('eth_getBlockByNumber', ['latest', false]))
    // Read at the same block, because nodes behind one address may have different heights.
    const state = await ask('eth_call', [call, block.number])
    const used = typeof state === 'string' && WORD.test(state) ? isUsed(BigInt(state)) : undefined
    if (used === undefined) return { kind: 'unknown', why: `the RPC does not know ${who}` }
    if (used) return { kind: 'used' }
    return Number(block.timestamp) * 1000 < untilMs ? { kind: 'open', untilMs } : { kind: 'unused' }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { kind: 'unknown', why: `the RPC of ${network} could not be asked (${why})` }
  }
}
