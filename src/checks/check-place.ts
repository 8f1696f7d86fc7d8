import { createRpcPool, type RpcPool } from '../chain/rpc-pool.ts'
import type { NetworkSetting } from '../config/resolved-config.ts'
import type { Network } from '../protocol/network.ts'

/** A network to be checked, and how findings name it and its settings. */
export interface CheckPlace {
  /** With the RPCs that the seller gave. */
  network: Network
  labels: Record<NetworkSetting | 'refundWalletPrivateKey', string>
  /** There are others: messages say which one they are about. */
  several: boolean
}

/** The nodes of a network, which must answer within this time together. */
export const nodesOf = (network: Network, timeoutMs: number): RpcPool =>
  createRpcPool(network, { timeoutMs, maxBytes: 1024 * 1024 })

type Which = Pick<CheckPlace, 'network' | 'several'>

/** ` of Polygon`, where there are several networks. */
export const ofNetwork = ({ network, several }: Which): string => (several ? ` of ${network.name}` : '')

/** ` on Polygon`, where there are several networks. */
export const onNetwork = ({ network, several }: Which): string => (several ? ` on ${network.name}` : '')
