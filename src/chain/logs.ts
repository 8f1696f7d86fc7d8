import { UnavailableError } from '../errors.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { readHex, readNumber, readRecord } from './rpc-values.ts'

export interface Log {
  address: Address
  topics: Hex[]
  data: Hex
  logIndex: number
  txHash: Hex
  blockNumber: number
  blockHash: Hex
}

/** The address in an indexed topic. */
export const addressOf = (topic: Hex): Address => `0x${topic.slice(26)}`

/** The logs of an answer that are in a canonical block. */
export function readLogs(value: unknown): Log[] {
  if (!Array.isArray(value)) throw new UnavailableError('the RPC (malformed logs)')
  return value.flatMap((item) => {
    const log = readRecord(item, 'log')
    // A `removed` log is in a block that is no longer canonical; a log without a block is pending.
    if (log.removed === true || log.blockHash === null) return []
    return {
      address: readHex(log.address, 'log address', 20),
      topics: (Array.isArray(log.topics) ? log.topics : []).map((topic) => readHex(topic, 'topic', 32)),
      data: readHex(log.data, 'log data'),
      logIndex: readNumber(log.logIndex, 'log index'),
      txHash: readHex(log.transactionHash, 'transaction hash', 32),
      blockNumber: readNumber(log.blockNumber, 'block number'),
      blockHash: readHex(log.blockHash, 'block hash', 32),
    }
  })
}
