import type { Address, Hex } from '../../../src/protocol/hex.ts'
import type { SimBlock, View } from '../chain/branch.ts'
import { NETWORK, PAY_TO } from '../world.ts'

/** One canonical transfer that an authorization made. */
export interface Transfer {
  /** As the store names it; written out here so that nothing of the engine is trusted. */
  key: string
  nonce: Hex
  from: Address
  to: Address
  value: bigint
  txHash: Hex
  logIndex: number
  block: SimBlock
}

/** Every transfer by authorization on this branch, from its logs alone. */
export function transfersOf({ branch }: View): Transfer[] {
  return branch.mined.flatMap(({ tx, block, logs }) =>
    logs.flatMap((log, index): Transfer[] => {
      const next = logs[index + 1]
      if (log.kind !== 'used' || next?.kind !== 'transfer') return []
      const { payer, nonce } = log.key
      const key = `${NETWORK.chainId}:${NETWORK.asset}:${payer}:${nonce}`.toLowerCase()
      const { from, to, value } = next
      return [{ key, nonce, from, to, value, txHash: tx.hash, logIndex: next.index, block }]
    }),
  )
}

export function incomeOf(transfers: readonly Transfer[]): Transfer[] {
  return transfers.filter(({ to }) => to === PAY_TO)
}

export function sum(values: Iterable<bigint>): bigint {
  let total = 0n
  for (const value of values) total += value
  return total
}
