import type { ReceiptRow } from '../../../src/ports.ts'
import type { Address, Hex } from '../../../src/protocol/hex.ts'
import type { SimBlock } from '../chain/branch.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import { PAY_TO } from '../world.ts'

/** One canonical transfer, on any of the chains: made by an authorization, a permit, or by its sender alone. */
export interface Transfer {
  /** The key in the store; computed here without code of the engine. */
  key: string
  chainId: number
  /** Of the authorization; the transaction's hash for any other. */
  nonce: Hex
  from: Address
  to: Address
  value: bigint
  txHash: Hex
  logIndex: number
  block: SimBlock
}

/**
 * Every transfer on this chain, from its logs alone. A plain one that has a receipt goes by that receipt's key, in which
 * the log index may be one from before a reorganisation.
 */
export function transfersOf(
  { branch, network, scheme }: SimChain,
  receipts: Iterable<ReceiptRow>,
): Transfer[] {
  const { chainId, token } = network
  const named = new Map([...receipts].map(({ key, txHash, logIndex }) => [`${txHash}:${logIndex}`, key]))
  return branch.mined.flatMap(({ tx, block, logs }) =>
    logs.flatMap((log, index): Transfer[] => {
      if (log.kind !== 'transfer') return []
      const { from, to, value } = log
      const place = { chainId, from, to, value, txHash: tx.hash, logIndex: log.index, block }
      const before = logs[index - 1]
      if (before?.kind === 'used') {
        const { payer, nonce } = before.key
        const exact = `${chainId}:${token.address}:${payer}:${nonce}`.toLowerCase()
        const key = scheme === 'coupon' ? `coupon/${chainId}/${payer}/${nonce}` : exact
        return [{ key, nonce, ...place }]
      }
      if (before?.kind === 'permit') {
        const { owner, nonce } = before
        return [{ key: `${chainId}:permit2:${owner}:${nonce}`, nonce: tx.hash, ...place }]
      }
      // A plain transaction of these histories moves one sum.
      const key = named.get(`${tx.hash}:${log.index}`) ?? `${chainId}:${tx.hash}:plain-0`
      return [{ key, nonce: tx.hash, ...place }]
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
