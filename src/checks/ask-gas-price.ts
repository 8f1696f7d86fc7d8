import { readBig } from '../chain/rpc-values.ts'
import type { Network } from '../protocol/network.ts'
import { nodesOf } from './check-place.ts'

/** What gas costs there now, in wei; undefined if no RPC answers. */
export async function askGasPrice(network: Network, limitMs: number): Promise<bigint | undefined> {
  try {
    return readBig(await nodesOf(network, limitMs).call('eth_gasPrice', []), 'gas price')
  } catch {
    return undefined
  }
}
