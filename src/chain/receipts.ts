import type { MinedTx } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import { type Log, readLogs } from './logs.ts'
import type { Rpc } from './rpc.ts'
import { readHex, readNumber, readRecord } from './rpc-values.ts'

export interface Receipt extends MinedTx {
  blockHash: Hex
  logs: Log[]
}

/** The receipt of a full batch has about 70 kB, so only some are read at a time. */
const AT_ONCE = 50

/** The receipts of those transactions that are in a block. */
export async function readReceipts(rpc: Rpc, hashes: readonly Hex[]): Promise<Receipt[]> {
  const found: Receipt[] = []
  for (let from = 0; from < hashes.length; from += AT_ONCE) {
    const some = hashes.slice(from, from + AT_ONCE)
    found.push(...(await Promise.all(some.map((hash) => readReceipt(rpc, hash)))).flat())
  }
  return found
}

async function readReceipt(rpc: Rpc, hash: Hex): Promise<Receipt[]> {
  const answer = await rpc.call('eth_getTransactionReceipt', [hash])
  if (answer === null) return []
  const receipt = readRecord(answer, 'receipt')
  if (receipt.blockNumber === null) return []
  return [
    {
      hash,
      success: readNumber(receipt.status, 'receipt status') === 1,
      blockNumber: readNumber(receipt.blockNumber, 'block number'),
      blockHash: readHex(receipt.blockHash, 'block hash', 32),
      logs: readLogs(receipt.logs),
    },
  ]
}

/** The part that the engine needs: a receipt may be large. */
export const minedOf = ({ hash, success, blockNumber }: Receipt): MinedTx => ({ hash, success, blockNumber })
