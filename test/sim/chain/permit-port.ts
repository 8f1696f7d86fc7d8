import { UnavailableError } from '../../../src/errors.ts'
import type { FoundUses, Scheme, SimResult, Use } from '../../../src/ports.ts'
import type { Hex } from '../../../src/protocol/hex.ts'
import { permitKey, type SignedPermit } from '../../../src/schemes/upto/permit.ts'
import type { MeterBook } from '../ports/meter-book.ts'
import { ALONE_GAS, type World } from '../world.ts'
import { blockAt, type Mined, minedIn, type View } from './branch.ts'
import { minedAt, type StaleLooks } from './chain-port.ts'
import { createNodeView, facts } from './node-view.ts'
import { fundsOf, settleRefusal } from './permit2.ts'
import type { SimChain } from './sim-chain.ts'

/** What is asked of a chain about permits. */
export type PermitPort = Pick<Scheme<SignedPermit>, 'simulate' | 'uses' | 'usesIfMined'> &
  Required<Pick<NonNullable<Scheme<SignedPermit>['metered']>, 'findSettlement'>>

/**
 * Permits as a node shows them. As on a real chain, nothing tells what became of a nonce but the receipts of the
 * transactions whose hashes are known, and the calldata of those that moved as much.
 */
export function createPermitPort(
  world: World,
  chain: SimChain,
  staleLooks: StaleLooks,
  meter: MeterBook,
): PermitPort {
  const { view, named } = createNodeView(world, chain)
  const { chainId } = chain.network

  function look(at: View, permit: SignedPermit): SimResult {
    const { facilitator: sender, from } = permit
    const reason = settleRefusal(chain.token, at, permit, sender)
    if (reason === 'authorization_used') return { kind: 'used' }
    if (reason !== undefined) return { kind: 'fails', reason }
    const funds = fundsOf(at, chain.token, from)
    meter.noteFunds(chainId, from, funds)
    return { kind: 'ok', alone: true, plain: true, gas: ALONE_GAS, sender, funds: String(funds) }
  }

  function settledIn({ tx, block, success, logs }: Mined, wanted: ReadonlySet<string>): Use[] {
    const [action] = tx.actions
    if (!success || action?.kind !== 'settle') return []
    const { from, to, nonce, charge } = action.permit
    const key = permitKey(chainId, from, nonce)
    const paid = logs.find((log) => log.kind === 'transfer')
    if (!wanted.has(key) || !paid) return []
    const place = { txHash: tx.hash, block: facts(block), logIndex: paid.index }
    return [{ kind: 'transfer', key, ...place, from, to, value: charge! }]
  }

  /** All answers but one are of one node; the block of a receipt may meanwhile be another one. */
  function find(at: View, keys: readonly string[], hashes: readonly Hex[]): FoundUses {
    const wanted = new Set(keys)
    const own = at.branch.mined.filter(
      ({ tx, block }) => block.number <= at.block.number && hashes.includes(tx.hash),
    )
    const found = own.flatMap((mined) => settledIn(mined, wanted))
    const checked = view()
    for (const { block } of found) {
      const known = block.number <= checked.block.number && blockAt(checked.branch, block.number)
      if (!known || known.hash !== block.hash) throw new UnavailableError('the RPC (a block that changed)')
    }
    return { at: named(at.block), found, mined: minedAt(at, hashes) }
  }

  return {
    async simulate(permits) {
      const at = view()
      if (at.block !== chain.head().block) {
        for (const { from, nonce } of permits) {
          staleLooks.add(`${from}:${nonce}`)
          staleLooks.add(`${from}:${hexOf(nonce)}`)
        }
      }
      return { at: facts(at.block), results: permits.map((permit) => look(at, permit)) }
    },
    async findSettlement({ from, to, nonce, charge }, fromHeight) {
      const at = view()
      const paid = minedIn(at).find(({ tx: { actions }, block, success }) => {
        const [action] = actions
        if (!success || action?.kind !== 'settle' || block.number < fromHeight) return false
        const { permit } = action
        return permit.from === from && permit.to === to && permit.nonce === nonce && permit.charge === charge
      })
      if (paid) world.count('lost settlements found')
      return { at: named(at.block), ...(paid && { txHash: paid.tx.hash }) }
    },
    uses: async (keys, _fromHeight, hashes = []) => find(view(), keys, hashes),
    async usesIfMined(keys, _fromHeight, hashes) {
      const at = view()
      const some = minedAt(at, hashes).length > 0
      return { at: named(at.block), ...(some && { uses: find(at, keys, hashes) }) }
    },
  }
}

/** As buyers of a history know it. */
const hexOf = (nonce: string): Hex => `0x${BigInt(nonce).toString(16).padStart(64, '0')}`
