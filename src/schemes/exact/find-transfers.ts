import { TRANSFER_TOPIC } from '../../chain/erc20.ts'
import { addressOf, readLogs } from '../../chain/logs.ts'
import { onOneNode, type Rpc } from '../../chain/rpc.ts'
import { readBig, readBlock, readHex, readRecord, toQuantity } from '../../chain/rpc-values.ts'
import { UnavailableError } from '../../errors.ts'
import type { Block, TransferTx } from '../../ports.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { USED_TOPIC } from './token-calls.ts'

/**
 * The token's plain transfers in one transaction. Those that an authorization caused are left out: they belong to
 * that authorization, and one Transfer must not be used twice.
 */
export function createTransferSearch(pool: Rpc, asset: Address) {
  async function search(rpc: Rpc, txHash: Hex): Promise<{ at: Block; found: TransferTx | undefined }> {
    // Read first: a transaction that is not found is then missing up to this block.
    const at = readBlock(await rpc.call('eth_getBlockByNumber', ['latest', false]))
    const answer = await rpc.call('eth_getTransactionReceipt', [txHash])
    if (answer === null) return { at, found: undefined }
    const receipt = readRecord(answer, 'receipt')
    if (receipt.blockHash === null) return { at, found: undefined }
    const blockHash = readHex(receipt.blockHash, 'block hash', 32)
    const block = readBlock(
      await rpc.call('eth_getBlockByNumber', [toQuantity(Number(receipt.blockNumber)), false]),
    )
    if (block.hash !== blockHash) {
      throw new UnavailableError('the RPC (a block that changed while it was read)')
    }
    const logs = readLogs(receipt.logs).filter(({ address }) => address === asset)
    const authorized = new Set(
      logs.filter(({ topics }) => topics[0] === USED_TOPIC).map(({ logIndex }) => logIndex + 1),
    )
    const transfers = logs
      .filter(({ topics, logIndex }) => {
        return topics[0] === TRANSFER_TOPIC && topics.length === 3 && !authorized.has(logIndex)
      })
      .map(({ topics, data, logIndex }) => ({
        logIndex,
        from: addressOf(topics[1]!),
        to: addressOf(topics[2]!),
        value: readBig(data, 'Transfer value').toString(),
      }))
    const sender = readHex(receipt.from, 'sender', 20).toLowerCase() as Address
    return { at, found: { txHash, sender, block, transfers } }
  }
  return (txHash: Hex) => onOneNode(pool, (node) => search(node, txHash))
}
