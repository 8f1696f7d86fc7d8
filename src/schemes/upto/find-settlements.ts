import { addressWord } from '../../chain/abi-words.ts'
import type { ChainClient } from '../../chain/chain-client.ts'
import { TRANSFER_TOPIC } from '../../chain/erc20.ts'
import { addressOf, type Log } from '../../chain/logs.ts'
import { minedOf, type Receipt } from '../../chain/receipts.ts'
import { onOneNode, type Rpc } from '../../chain/rpc.ts'
import { readBig, readBlock, readHex, readRecord, toQuantity } from '../../chain/rpc-values.ts'
import { createLogSearch } from '../../chain/search-logs.ts'
import { UnavailableError } from '../../errors.ts'
import type { Block, FoundIfMined, FoundUses, Use } from '../../ports.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { permitKey, type SignedPermit } from './permit.ts'
import { decodeSettle, settledAmount } from './settle-call.ts'

interface FoundSettlement {
  at: Block
  txHash?: Hex
}

const NOWHERE: Address = '0x0000000000000000000000000000000000000000'

/**
 * Finds what became of permits, from the receipts of our own transactions: nobody else can settle them, and neither
 * Permit2 nor the proxy logs a nonce. Which permit a transaction settled is read from its calldata. A nonce that its
 * payer has given up moves no money and is not found here; its permit ends with its deadline. `findSettlement` is for a
 * store that lost our transaction: it looks at every transfer that the settlement could have made.
 */
export function createSettlementSearch({
  rpc,
  network,
  searchMined,
}: Pick<ChainClient, 'network' | 'searchMined'> & { rpc: Rpc }) {
  const searchLogs = createLogSearch(network.token.address, network.logRange)

  /** The settlement that a transaction asks for, with the key of its permit. */
  async function callOf(node: Rpc, hash: Hex) {
    const answer = await node.call('eth_getTransactionByHash', [hash])
    if (answer === null) throw new UnavailableError('the RPC (a transaction without its calldata)')
    const { to, input } = readRecord(answer, 'transaction')
    const call = decodeSettle({
      to: to === null ? null : (readHex(to, 'recipient', 20).toLowerCase() as Address),
      data: readHex(input, 'calldata'),
    })
    return call && { ...call, key: permitKey(network.chainId, call.owner, call.nonce) }
  }

  async function settledIn(node: Rpc, receipt: Receipt, wanted: ReadonlySet<string>): Promise<Use[]> {
    if (!receipt.success) return []
    const call = await callOf(node, receipt.hash)
    if (!call || !wanted.has(call.key)) return []
    const block = readBlock(await node.call('eth_getBlockByNumber', [toQuantity(receipt.blockNumber), false]))
    if (block.hash !== receipt.blockHash)
      throw new UnavailableError('the RPC (a block that changed while it was read)')
    const paid = receipt.logs.find((log) => isTransfer(log, network.token.address, call))
    // A settlement without its transfer pays nobody: no rule accepts the zero address as a payment.
    const moved = paid
      ? { logIndex: paid.logIndex, to: addressOf(paid.topics[2]!), value: call.amount }
      : { logIndex: 0, to: NOWHERE, value: '0' }
    return [{ kind: 'transfer', key: call.key, txHash: receipt.hash, block, from: call.owner, ...moved }]
  }

  async function findUses(node: Rpc, keys: readonly string[], receipts: Receipt[], at: Block) {
    const wanted = new Set(keys)
    const found = await Promise.all(receipts.map((receipt) => settledIn(node, receipt, wanted)))
    return { at, found: found.flat(), mined: receipts.map(minedOf) }
  }

  async function search(node: Rpc, permit: SignedPermit, fromHeight: number): Promise<FoundSettlement> {
    const { from: owner, to, nonce } = permit
    const at = readBlock(await node.call('eth_getBlockByNumber', ['latest', false]))
    const topics = [TRANSFER_TOPIC, `0x${addressWord(owner)}`, `0x${addressWord(to)}`]
    const [logs = []] = await searchLogs(node, [topics], { from: fromHeight, to: at.number })
    const paid = { owner, to, amount: settledAmount(permit) }
    const key = permitKey(network.chainId, owner, nonce)
    const hashes = logs
      .filter((log) => isTransfer(log, network.token.address, paid))
      .map(({ txHash }) => txHash)
    for (const hash of new Set(hashes)) {
      if ((await callOf(node, hash))?.key === key) return { at, txHash: hash }
    }
    return { at }
  }

  return {
    findSettlement: (permit: SignedPermit, fromHeight: number): Promise<FoundSettlement> =>
      onOneNode(rpc, (node) => search(node, permit, fromHeight)),
    uses: (keys: readonly string[], _fromHeight: number, hashes: readonly Hex[] = []): Promise<FoundUses> =>
      onOneNode(rpc, async (node) => findUses(node, keys, ...(await searchMined.look(hashes, node)))),
    usesIfMined: (
      keys: readonly string[],
      _fromHeight: number,
      hashes: readonly Hex[],
    ): Promise<FoundIfMined> =>
      onOneNode(rpc, async (node) => {
        const [receipts, at] = await searchMined.lookIfLikely(hashes, node)
        return receipts.length === 0 ? { at } : { at, uses: await findUses(node, keys, receipts, at) }
      }),
  }
}

function isTransfer(
  { address, topics, data }: Log,
  token: Address,
  { owner, to, amount }: { owner: Address; to: Address; amount: string },
): boolean {
  return (
    address === token &&
    topics.length === 3 &&
    topics[0] === TRANSFER_TOPIC &&
    addressOf(topics[1]!) === owner &&
    addressOf(topics[2]!) === to &&
    readBig(data, 'Transfer value').toString() === amount
  )
}
