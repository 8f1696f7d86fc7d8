import { UnavailableError } from '../../../src/errors.ts'
import type { Chain, MinedTx, Rail, Scheme, SimResult, TransferTx, Use } from '../../../src/ports.ts'
import type { Address, Hex } from '../../../src/protocol/hex.ts'
import { type SignedAuthorization, splitKey } from '../../../src/schemes/exact/authorization.ts'
import { ALONE_GAS, address, type World } from '../world.ts'
import { blockAt, type Mined, nonceOf, type Tx, useOf, type View } from './branch.ts'
import { createNodeView, facts } from './node-view.ts'
import type { SimChain } from './sim-chain.ts'
import { refusal } from './token.ts'

/** Authorizations whose look was answered from an old block: the engine could not know better. */
export type StaleLooks = Set<string>

/** Everything that is asked of a chain in a history, whatever part of the gateway asks. */
export type ChainPort = Chain &
  Pick<Scheme<SignedAuthorization>, 'simulate' | 'uses' | 'usesIfMined'> &
  Pick<Rail, 'transfers'>

/** The chain as a node shows it: perhaps some blocks behind, perhaps still on a branch that is gone. */
export function createChainPort(world: World, chain: SimChain, staleLooks: StaleLooks): ChainPort {
  const { view, named } = createNodeView(world, chain)

  function look(at: View, auth: Parameters<typeof refusal>[3]): SimResult {
    if (useOf(at, { payer: auth.from, nonce: auth.nonce })) return { kind: 'used' }
    const reason = refusal(chain.token, at, at.block.timestamp, auth)
    if (reason !== undefined) return { kind: 'fails', reason }
    const code = chain.token.codes.get(auth.from) ?? 'none'
    const alone = code === 'flips' || code === 'burns'
    return { kind: 'ok', alone, ...(alone && { gas: ALONE_GAS }) }
  }

  async function uses(keys: readonly string[], fromHeight: number, hashes: readonly Hex[] = []) {
    // Receipts, the latest block and the logs are three answers, perhaps of three nodes.
    const [receipts, latest, checked] = [view(), view(), view()]
    const own = keys.flatMap((key) => describeUse(receipts, key) ?? [])
    const told = own.filter(({ txHash }) => hashes.includes(txHash))
    for (const { block } of told) {
      if (block.hash === latest.block.hash) continue
      const known = block.number <= checked.block.number && blockAt(checked.branch, block.number)
      if (!known || known.hash !== block.hash) throw new UnavailableError('the RPC (a block that changed)')
    }
    const untold = keys.filter((key) => !told.some((use) => use.key === key))
    const found = [...told, ...untold.flatMap((key) => describeUse(latest, key) ?? [])]
    return {
      at: named(latest.block),
      found: found.filter(({ block }) => block.number >= fromHeight),
      mined: minedAt(receipts, hashes),
    }
  }

  return {
    async head() {
      const at = view()
      return { latest: named(at.block), finalized: facts(blockAt(at.branch, at.block.finalized)) }
    },
    async simulate(auths) {
      const at = view()
      if (at.block !== chain.head().block) {
        for (const { from, nonce } of auths) staleLooks.add(`${from}:${nonce}`)
      }
      return { at: facts(at.block), results: auths.map((auth) => look(at, auth)) }
    },
    uses,
    async usesIfMined(keys, fromHeight, hashes) {
      const at = view()
      const some = minedAt(at, hashes).length > 0
      return { at: named(at.block), ...(some && { uses: await uses(keys, fromHeight, hashes) }) }
    },
    async transfers(txHash) {
      const at = view()
      const mined = at.branch.mined.find(
        ({ tx, block }) => block.number <= at.block.number && tx.hash === txHash,
      )
      return { at: named(at.block), found: mined && plainTransfers(mined) }
    },
    mined: async (hashes) => minedAt(view(), hashes),
    async submit(raw) {
      return chain.submit(raw)
    },
    async wallet(address) {
      const at = view()
      const { baseFee: baseFeeWei, priorityFee: priorityFeeWei } = chain
      return { nonce: nonceOf(at, address), balanceWei: chain.etherOf(address), baseFeeWei, priorityFeeWei }
    },
  }
}

export function minedAt(at: View, hashes: readonly Hex[]): MinedTx[] {
  return at.branch.mined
    .filter(({ tx, block }) => block.number <= at.block.number && hashes.includes(tx.hash))
    .map(({ tx, success, block }) => ({ hash: tx.hash, success, blockNumber: block.number }))
}

/** A buyer's own transaction moves what is the buyer's. */
function senderOf({ lane, actions: [action] }: Tx): Address {
  const own = action?.kind === 'transfer' ? action.from : undefined
  return lane?.wallet ?? own ?? address('stranger', 1)
}

function plainTransfers({ tx, block, logs }: Mined): TransferTx {
  const authorized = new Set(logs.filter(({ kind }) => kind === 'used').map(({ index }) => index + 1))
  return {
    txHash: tx.hash,
    sender: senderOf(tx),
    block: facts(block),
    transfers: logs.flatMap((log) => {
      if (log.kind !== 'transfer' || authorized.has(log.index)) return []
      return { logIndex: log.index, from: log.from, to: log.to, value: log.value.toString() }
    }),
  }
}

export function describeUse(at: View, key: string): Use | undefined {
  const use = useOf(at, splitKey(key))
  if (!use) return undefined
  const { mined, log, next } = use
  const found = { key, block: facts(mined.block), txHash: mined.tx.hash }
  if (log.kind === 'canceled') return { kind: 'canceled', ...found }
  if (next?.kind !== 'transfer' || next.index !== log.index + 1) throw new Error('a use without its Transfer')
  const { from, to, value, index } = next
  return { kind: 'transfer', ...found, logIndex: index, from, to, value: value.toString() }
}
