import type { Hex } from '../protocol/hex.ts'
import type { BuyerNetwork } from './buyer-networks.ts'
import { askNodes, rpcCall, type Unknown } from './rpc-call.ts'

/** What an account holds of a token, in the token's own units. */
export type TokenBalance = { kind: 'known'; units: bigint } | Unknown

const BALANCE_OF = '0x70a08231'
const WORD = /^0x[0-9a-f]{64}$/i

/** Reads a balance; nodes that do not answer, or are of another chain, leave it unknown. Never rejects. */
export function tokenBalance(
  fetchOnce: typeof fetch,
  network: BuyerNetwork,
  owner: Hex,
  rpcUrls: readonly string[],
  signal: AbortSignal,
): Promise<TokenBalance> {
  return askNodes(rpcUrls, (rpcUrl) => balanceAt(rpcUrl, fetchOnce, network, owner, signal))
}

async function balanceAt(
  rpcUrl: string,
  fetchOnce: typeof fetch,
  { id, asset }: BuyerNetwork,
  owner: Hex,
  signal: AbortSignal,
): Promise<TokenBalance> {
  const ask = (method: string, params: unknown[]) => rpcCall(fetchOnce, rpcUrl, method, params, signal)
  const data = `${BALANCE_OF}${owner.slice(2).padStart(64, '0')}`
  try {
    const [chainId, balance] = await Promise.all([
      ask('eth_chainId', []),
      ask('eth_call', [{ to: asset, data }, 'latest']),
    ])
    if (`eip155:${Number(chainId)}` !== id) {
      return { kind: 'unknown', why: `its RPC is of eip155:${Number(chainId)}` }
    }
    if (typeof balance !== 'string' || !WORD.test(balance)) {
      return { kind: 'unknown', why: 'its RPC does not know the token' }
    }
    return { kind: 'known', units: BigInt(balance) }
  } catch (error) {
    const why = signal.aborted ? 'it took too long' : error instanceof Error ? error.message : String(error)
    return { kind: 'unknown', why: `its RPC did not answer (${why})` }
  }
}
