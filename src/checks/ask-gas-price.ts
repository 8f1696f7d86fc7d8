import { createRpc } from '../chain/rpc.ts'
import { readBig } from '../chain/rpc-values.ts'
import { askInOrder } from './ask-in-order.ts'

/** What gas costs there now, in wei; undefined if no RPC answers. */
export function askGasPrice(rpcUrls: readonly string[], limitMs: number): Promise<bigint | undefined> {
  return askInOrder(rpcUrls, limitMs, async (rpcUrl, timeoutMs) => {
    const rpc = createRpc(rpcUrl, { timeoutMs, maxBytes: 64 * 1024 })
    return readBig(await rpc.call('eth_gasPrice', []), 'gas price')
  }).catch(() => undefined)
}
