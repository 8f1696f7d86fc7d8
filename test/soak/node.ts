import { type RemoteRpc, startRemoteRpc } from '../e2e/remote-rpc.ts'
import { type RpcProxy, startRpcProxy } from '../e2e/rpc-proxy.ts'

/** An RPC node as the instances see it: a line that can be cut, and a node behind it that is slow, busy or lies. */
export interface Node {
  url: string
  line: RpcProxy
  rpc: RemoteRpc
  /** As it was at the start. */
  heal(): void
  stop(): Promise<void>
}

const LATENCY_MS = 15

export async function startNode(target: string): Promise<Node> {
  const rpc = await startRemoteRpc(target, { latencyMs: LATENCY_MS })
  const line = await startRpcProxy(rpc.url)
  return {
    url: line.url,
    line,
    rpc,
    heal() {
      line.mend()
      rpc.latencyMs = LATENCY_MS
      rpc.callsPerSecond = Number.POSITIVE_INFINITY
      rpc.lie = undefined
      rpc.fail = undefined
    },
    async stop() {
      await line.stop()
      await rpc.stop()
    },
  }
}

type Lie = NonNullable<RemoteRpc['lie']>

interface Block {
  number: string
}

/** It has not heard of the last blocks: neither of their numbers, nor of what is in them. */
export function staleHead(blocks: number): Lie {
  const seen = new Map<number, unknown>()
  let newest = 0
  const head = () => newest - blocks
  const isNew = (height: unknown) => typeof height === 'string' && newest > 0 && Number(height) > head()
  return (method, params, result) => {
    if (result === null || result === undefined) return result
    if (method === 'eth_blockNumber') {
      newest = Math.max(newest, Number(result))
      return `0x${Math.max(0, head()).toString(16)}`
    }
    if (method === 'eth_getBlockByNumber') {
      const { number } = result as Block
      seen.set(Number(number), result)
      if (params[0] === 'latest') {
        newest = Math.max(newest, Number(number))
        // Until it has seen enough, it says the truth: it only begins to lag.
        return seen.get(head()) ?? [...seen].sort(([a], [b]) => a - b)[0]![1]
      }
      return isNew(number) && !['finalized', 'safe', 'pending'].includes(String(params[0])) ? null : result
    }
    if (method === 'eth_getLogs')
      return (result as Array<{ blockNumber: string }>).filter(({ blockNumber }) => !isNew(blockNumber))
    if (method === 'eth_getTransactionReceipt')
      return isNew((result as { blockNumber: string }).blockNumber) ? null : result
    return result
  }
}

/** Its index lags behind its blocks: it names a block and has none of its logs yet. */
export function missingLogs(blocks: number): Lie {
  let newest = 0
  return (method, _params, result) => {
    if (method === 'eth_blockNumber') newest = Math.max(newest, Number(result))
    if (method === 'eth_getBlockByNumber' && result)
      newest = Math.max(newest, Number((result as Block).number))
    if (method !== 'eth_getLogs') return result
    return (result as Array<{ blockNumber: string }>).filter(
      ({ blockNumber }) => Number(blockNumber) <= newest - blocks,
    )
  }
}

const isSend = (method: string) => method.startsWith('eth_sendRawTransaction')

/** The node takes the transaction, and says that something went wrong. */
export const failedSends: NonNullable<RemoteRpc['fail']> = (method) =>
  isSend(method) ? { code: -32603, message: 'internal error' } : undefined

/** The node takes the transaction, and the answer never arrives. */
export const lostSends: Lie = (method, _params, result) => {
  if (isSend(method)) throw new Error('the answer is lost')
  return result
}
