import type { Submitted } from '../../../src/ports.ts'
import type { Address, Hex } from '../../../src/protocol/hex.ts'
import type { Network } from '../../../src/protocol/network.ts'
import { isPermit } from '../../../src/schemes/upto/settle-call.ts'
import { decodeRaw } from '../keys.ts'
import type { World } from '../world.ts'
import {
  type Action,
  type Branch,
  blockAt,
  feesPaidBy,
  type Log,
  nonceOf,
  type SimBlock,
  type Tx,
  type View,
} from './branch.ts'
import { burnsGas, runAction, type Token } from './token.ts'

const CALM_BASE_FEE = 10_000_000n
const PRIORITY_FEE = 1_000_000n
const GAS_OF_A_CALL = 80_000
/** How long some nodes still show blocks that the others have dropped. */
const ORPHAN_MS = 15_000

/** What differs between the chains of a history. */
export interface ChainFacts {
  network: Network
  token: Token
  scheme: 'exact' | 'coupon'
  firstBlock: number
  blockMs: number
  /** The probability of a reorganisation, per block. */
  reorgs: number
}

/** A chain of a history, as it truly is: blocks, a pool of pending transactions, finality and reorganisations. */
export class SimChain {
  branch: Branch
  /** What some nodes still show; `fork` is the last block that it shares with the true branch. */
  orphan: { branch: Branch; fork: number; untilMs: number } | undefined
  finalized: number
  baseFee = CALM_BASE_FEE
  readonly priorityFee = PRIORITY_FEE
  readonly pool = new Map<Hex, Tx>()
  readonly ether = new Map<Address, bigint>()
  private readonly world: World
  readonly network: Network
  /** How buyers pay here. */
  readonly scheme: 'exact' | 'coupon'
  readonly token: Token
  readonly blockMs: number
  readonly reorgs: number
  private made = 0

  constructor(world: World, { network, token, scheme, firstBlock, blockMs, reorgs }: ChainFacts) {
    this.world = world
    this.network = network
    this.scheme = scheme
    this.token = token
    this.blockMs = blockMs
    this.reorgs = reorgs
    this.finalized = firstBlock
    this.branch = { blocks: [this.newBlock(firstBlock, this.seconds())], mined: [] }
  }

  head(): View {
    return { branch: this.branch, block: this.branch.blocks.at(-1)! }
  }

  final(): View {
    return { branch: this.branch, block: blockAt(this.branch, this.finalized) }
  }

  seconds(): number {
    return Math.floor(this.world.scheduler.now() / 1000)
  }

  newHash(mark: string): Hex {
    const made = `${this.network.chainId.toString(16)}0${(++this.made).toString(16).padStart(8, '0')}`
    return `0x${mark}${made.padStart(64 - mark.length, '0')}`
  }

  /** A transaction that is not from our gas wallet. */
  send(actions: Action[]): Hex {
    const hash = this.newHash('f0')
    this.pool.set(hash, { hash, lane: null, actions })
    return hash
  }

  submit(raw: Hex): Submitted {
    const { wallet, nonce, calls, gas, hash, ...fees } = decodeRaw(raw)
    const maxFee = BigInt(fees.maxFeePerGas)
    const tip = BigInt(fees.maxPriorityFeePerGas)
    if (nonce < nonceOf(this.head(), wallet)) return 'nonce-low'
    if (this.pool.has(hash)) return 'known'
    if (this.etherOf(wallet) < maxFee * BigInt(gas)) return 'unknown'
    if (maxFee < this.baseFee && this.world.dice.chance(0.5)) return 'underpriced'
    const rival = this.pendingAt(wallet, nonce)
    if (rival?.lane) {
      if (maxFee * 10n < rival.lane.maxFee * 11n || tip * 10n < rival.lane.tip * 11n) return 'underpriced'
      this.pool.delete(rival.hash)
      this.world.count('replaced transactions')
    }
    const actions = calls.map(
      (call): Action =>
        isPermit(call) ? { kind: 'settle', permit: call } : { kind: 'authorized', auth: call },
    )
    this.pool.set(hash, { hash, lane: { wallet, nonce, gas, maxFee, tip }, actions })
    return 'accepted'
  }

  etherOf(wallet: Address): bigint {
    return (this.ether.get(wallet) ?? 0n) - feesPaidBy(this.head(), wallet)
  }

  /** One block, with what the pool has to offer. */
  mine(timestamp = this.seconds()): void {
    const { calm, weather, dice } = this.world
    const parent = this.branch.blocks.at(-1)!
    const block = this.newBlock(parent.number + 1, Math.max(parent.timestamp + 1, timestamp))
    this.branch.blocks.push(block)
    for (const tx of [...this.pool.values()]) {
      if (!this.pool.has(tx.hash)) continue
      if (!calm && dice.chance(weather.dropped)) {
        this.pool.delete(tx.hash)
        this.world.count('dropped transactions')
      } else if (calm || dice.chance(weather.inclusion)) this.include(tx, block)
    }
    const lag = weather.finalityBlocks
    this.finalized = Math.max(this.finalized, Math.min(block.number, block.number - lag))
    block.finalized = this.finalized
  }

  private newBlock(number: number, timestamp: number): SimBlock {
    const minedAt = this.world.scheduler.now()
    const { baseFee, finalized } = this
    return { number, timestamp, hash: this.newHash('b10c'), minedAt, baseFee, finalized }
  }

  private pendingAt(wallet: Address, nonce: number): Tx | undefined {
    for (const tx of this.pool.values()) if (tx.lane?.wallet === wallet && tx.lane.nonce === nonce) return tx
    return undefined
  }

  /** Mines a transaction if its turn has come, and those of its wallet that only waited for it. */
  private include(tx: Tx, block: SimBlock): void {
    for (let next: Tx | undefined = tx; next; ) {
      const lane: Tx['lane'] = next.lane
      if (lane) {
        const expected = nonceOf(this.head(), lane.wallet)
        if (lane.nonce < expected) return void this.pool.delete(next.hash)
        const affordable = this.etherOf(lane.wallet) >= lane.maxFee * BigInt(lane.gas)
        if (lane.nonce > expected || lane.maxFee < this.baseFee || !affordable) return
      }
      this.pool.delete(next.hash)
      this.execute(next, block)
      next = lane ? this.pendingAt(lane.wallet, lane.nonce + 1) : undefined
    }
  }

  private execute(tx: Tx, block: SimBlock): void {
    const { dice } = this.world
    const view = { branch: this.branch, block }
    const inBlock = this.branch.mined.filter((mined) => mined.block === block)
    let index = (inBlock.at(-1)?.logs.at(-1)?.index ?? -1) + 1 + dice.int(0, 2)
    const logs: Log[] = []
    let success = true
    const mined = { tx, block, success, logs, feeWei: this.feeOf(tx) }
    this.branch.mined.push(mined)
    if (tx.actions.some((action) => burnsGas(this.token, action))) success = false
    const sender = tx.actions.length === 1 ? tx.lane?.wallet : undefined
    for (const action of success ? tx.actions : []) {
      const made = runAction(this.token, view, dice, action, index, sender)
      // One call goes to the token itself and reverts with it; several go through Multicall3, which allows failures.
      if (!made && tx.actions.length === 1) success = false
      logs.push(...(made ?? []))
      index = (logs.at(-1)?.index ?? index - 1) + 1
    }
    mined.success = success
    this.noteSettled(logs)
    if (!success) this.world.count('reverted transactions')
    if (!success && tx.actions.length > 1) this.world.count('reverted batches')
    if (tx.lane && tx.actions.length > 1) this.world.count('batches')
    this.world.note(
      'chain',
      () => `#${block.number} ${brief(tx)} ${success ? 'ok' : 'reverted'} logs=${logs.length}`,
    )
  }

  private noteSettled(logs: readonly Log[]): void {
    for (const log of logs) {
      if (log.kind !== 'permit' || log.taken === 0n) continue
      this.world.count('permits settled')
      this.world.settled.set(`${this.network.chainId}:permit2:${log.owner}:${log.nonce}`, log.taken)
    }
  }

  private feeOf({ lane, actions }: Tx): bigint {
    if (!lane) return 0n
    const used = Math.min(lane.gas, 40_000 + GAS_OF_A_CALL * actions.length)
    return BigInt(used) * (this.baseFee + lane.tip)
  }

  /** Removes the last `depth` blocks, which are not final. Their transactions wait again, or are dropped. */
  reorg(depth: number): void {
    const { dice, scheduler } = this.world
    const old = this.branch
    const top = old.blocks.at(-1)!.number
    const keep = Math.max(this.finalized, top - depth)
    if (keep >= top) return
    const isKept = ({ block }: { block: SimBlock }): boolean => block.number <= keep
    this.branch = {
      blocks: old.blocks.slice(0, keep - old.blocks[0]!.number + 1),
      mined: old.mined.filter(isKept),
    }
    this.orphan = { branch: old, fork: keep, untilMs: scheduler.now() + ORPHAN_MS }
    this.world.count('reorgs')
    for (const { tx } of old.mined.filter((mined) => !isKept(mined))) {
      this.world.count('transactions reorganised')
      const rival = tx.lane && this.pendingAt(tx.lane.wallet, tx.lane.nonce)
      if (!rival && dice.chance(0.6)) this.pool.set(tx.hash, tx)
    }
    this.world.note('chain', () => `reorg: blocks ${keep + 1}..${top} are gone`)
    if (dice.chance(0.7)) {
      for (let number = keep + 1; number <= top; number++) this.mine(blockAt(old, number).timestamp)
    }
  }
}

function brief({ hash, lane, actions }: Tx): string {
  const what = actions.map((action) => {
    if (action.kind === 'authorized')
      return `pay ${action.auth.from.slice(-3)}:${action.auth.nonce.slice(2, 8)}`
    if (action.kind === 'settle')
      return `settle ${action.permit.charge} of ${action.permit.from.slice(-3)}:${action.permit.nonce.slice(-6)}`
    if (action.kind === 'approve') return `approve ${action.amount} of ${action.owner.slice(-3)}`
    if (action.kind === 'invalidate') return `invalidate ${action.nonce.slice(-6)}`
    return action.kind === 'cancel' ? `cancel ${action.key.nonce.slice(2, 8)}` : `move ${action.value}`
  })
  return `tx ${hash.slice(-6)}${lane ? ` nonce ${lane.nonce}` : ''} [${what.join(', ')}]`
}
