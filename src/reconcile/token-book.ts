import { addressWord } from '../chain/abi-words.ts'
import { TRANSFER_TOPIC } from '../chain/erc20.ts'
import { OversizeError } from '../chain/http-text.ts'
import { createLearnedLimit } from '../chain/learned-limit.ts'
import { addressOf, type Log, readLogs } from '../chain/logs.ts'
import type { Rpc } from '../chain/rpc.ts'
import { readBig, readNumber, readRecord, toQuantity } from '../chain/rpc-values.ts'
import { UnavailableError } from '../errors.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { USED_TOPIC } from '../schemes/exact/token-calls.ts'

/** One Transfer of the token. */
export interface Movement {
  txHash: Hex
  logIndex: number
  blockNumber: number
  from: Address
  to: Address
  value: string
}

/** Reads the transfers of the token from the chain. Rejects with UnavailableError if the chain cannot be asked. */
export interface TokenBook {
  finalizedHeight(): Promise<number>
  /** All transfers from or to these wallets in these blocks, oldest first; `onBlock` reports the progress. */
  movements(
    wallets: { receiving: readonly Address[]; sending: readonly Address[] },
    fromBlock: number,
    toBlock: number,
    onBlock: (block: number) => void,
  ): Promise<{ incoming: Movement[]; outgoing: Movement[] }>
  /** The nonce of the authorization that caused the transfer; undefined: it was a plain transfer. */
  nonceOf(movement: Movement): Promise<Hex | undefined>
  /** All movements of one transaction; undefined while the chain does not have it. */
  movementsIn(txHash: Hex): Promise<Movement[] | undefined>
}

/** Most public nodes allow this many blocks in one query; for others a smaller number is found by trying. */
const FIRST_SPAN = 10_000

export function createTokenBook(rpc: Rpc, asset: Address): TokenBook {
  const span = createLearnedLimit(FIRST_SPAN)
  const receipts = new Map<Hex, Promise<Log[] | undefined>>()

  async function query(topics: unknown[], from: number, to: number): Promise<Log[] | undefined> {
    const filter = { address: asset, fromBlock: toQuantity(from), toBlock: toQuantity(to), topics }
    const answer = await rpc.attempt('eth_getLogs', [filter]).catch((error: unknown) => {
      if (error instanceof OversizeError) return undefined
      throw error
    })
    if (answer?.ok) return readLogs(answer.result)
    // Every node words "range too large" differently, so any error may mean it; a single block is never too large.
    if (to > from) return undefined
    throw new UnavailableError(`the RPC (eth_getLogs: ${answer?.error.message ?? 'too large'})`)
  }

  function logsOf(txHash: Hex): Promise<Log[] | undefined> {
    const known = receipts.get(txHash)
    if (known) return known
    const asked = rpc.call('eth_getTransactionReceipt', [txHash]).then((answer) => {
      return answer === null ? undefined : readLogs(readRecord(answer, 'receipt').logs)
    })
    receipts.set(txHash, asked)
    return asked
  }

  const movementOf = ({ txHash, logIndex, blockNumber, topics, data }: Log): Movement => ({
    ...{ txHash, logIndex, blockNumber },
    from: addressOf(topics[1]!),
    to: addressOf(topics[2]!),
    value: readBig(data, 'Transfer value').toString(),
  })
  const isTransfer = ({ address, topics }: Log) => {
    return address === asset && topics.length === 3 && topics[0] === TRANSFER_TOPIC
  }

  return {
    async finalizedHeight() {
      const answer = await rpc.call('eth_getBlockByNumber', ['finalized', false])
      return readNumber(readRecord(answer, 'finalized block').number, 'block number')
    },

    async movements({ receiving, sending }, fromBlock, toBlock, onBlock) {
      const words = (wallets: readonly Address[]) => wallets.map((wallet) => `0x${addressWord(wallet)}`)
      const incoming: Movement[] = []
      const outgoing: Movement[] = []
      for (let from = fromBlock; from <= toBlock; ) {
        const end = Math.min(toBlock, from + span.current() - 1)
        const [received, sent] = await Promise.all([
          query([TRANSFER_TOPIC, null, words(receiving)], from, end),
          query([TRANSFER_TOPIC, words(sending)], from, end),
        ])
        if (!received || !sent) {
          span.shrinkTo(Math.floor((end - from + 1) / 2))
          continue
        }
        incoming.push(...received.filter(isTransfer).map(movementOf))
        outgoing.push(...sent.filter(isTransfer).map(movementOf))
        onBlock(end)
        from = end + 1
      }
      return { incoming, outgoing }
    },

    async nonceOf({ txHash, logIndex, from }) {
      const logs = await logsOf(txHash)
      // The token logs the use of an authorization right before the transfer.
      const used = logs?.find((log) => log.logIndex === logIndex - 1)
      const causes =
        used?.address === asset && used.topics[0] === USED_TOPIC && addressOf(used.topics[1]!) === from
      return causes ? used.topics[2] : undefined
    },

    movementsIn: async (txHash) => (await logsOf(txHash))?.filter(isTransfer).map(movementOf),
  }
}
