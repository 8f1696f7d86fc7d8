import { addressWord } from '../chain/abi-words.ts'
import { TRANSFER_TOPIC } from '../chain/erc20.ts'
import { readHead } from '../chain/final-block.ts'
import { addressOf, type Log, readLogs } from '../chain/logs.ts'
import { onOneNode, type Rpc } from '../chain/rpc.ts'
import { readBig, readHex, readRecord } from '../chain/rpc-values.ts'
import { createLogSearch } from '../chain/search-logs.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { USED_TOPIC } from '../schemes/exact/token-calls.ts'
import { permitKey } from '../schemes/upto/permit.ts'
import { decodeSettle } from '../schemes/upto/settle-call.ts'

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
  /** The key of the metered payment that the transfer settled; undefined: it settled none. */
  permitOf(movement: Movement): Promise<string | undefined>
  /** All movements of one transaction; undefined while the chain does not have it. */
  movementsIn(txHash: Hex): Promise<Movement[] | undefined>
}

export function createTokenBook(
  rpc: Rpc,
  { chainId, token, logRange, finalDepth }: Pick<Network, 'chainId' | 'token' | 'logRange' | 'finalDepth'>,
): TokenBook {
  const asset = token.address
  const searchLogs = createLogSearch(asset, logRange)
  const receipts = new Map<Hex, Promise<Log[] | undefined>>()

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
      return (await onOneNode(rpc, (node) => readHead(node, finalDepth))).finalized.number
    },

    async movements({ receiving, sending }, fromBlock, toBlock, onBlock) {
      const words = (wallets: readonly Address[]) => wallets.map((wallet) => `0x${addressWord(wallet)}`)
      const filters = [
        [TRANSFER_TOPIC, null, words(receiving)],
        [TRANSFER_TOPIC, words(sending)],
      ]
      // These blocks are final, so every node that is good has all of them.
      const found = await searchLogs(rpc, filters, { from: fromBlock, to: toBlock }, onBlock)
      const [incoming, outgoing] = found.map((logs) => logs.filter(isTransfer).map(movementOf))
      return { incoming: incoming!, outgoing: outgoing! }
    },

    async nonceOf({ txHash, logIndex, from }) {
      const logs = await logsOf(txHash)
      // The token logs the use of an authorization right before the transfer.
      const used = logs?.find((log) => log.logIndex === logIndex - 1)
      const causes =
        used?.address === asset && used.topics[0] === USED_TOPIC && addressOf(used.topics[1]!) === from
      return causes ? used.topics[2] : undefined
    },

    async permitOf({ txHash, from }) {
      const answer = await rpc.call('eth_getTransactionByHash', [txHash])
      if (answer === null) return undefined
      const { to, input } = readRecord(answer, 'transaction')
      if (typeof to !== 'string') return undefined
      const settled = decodeSettle({ to: to.toLowerCase() as Address, data: readHex(input, 'calldata') })
      return settled?.owner === from ? permitKey(chainId, from, settled.nonce) : undefined
    },

    movementsIn: async (txHash) => (await logsOf(txHash))?.filter(isTransfer).map(movementOf),
  }
}
