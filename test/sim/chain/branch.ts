import type { Block } from '../../../src/ports.ts'
import type { Address, Hex } from '../../../src/protocol/hex.ts'
import type { SignedAuthorization } from '../../../src/schemes/exact/authorization.ts'
import type { SignedPermit } from '../../../src/schemes/upto/permit.ts'

export interface AuthKey {
  payer: Address
  nonce: Hex
}

export type Action =
  | { kind: 'authorized'; auth: SignedAuthorization }
  | { kind: 'cancel'; key: AuthKey }
  | { kind: 'transfer'; from: Address; to: Address; value: bigint }
  /** Takes the permit's charge, by Permit2. */
  | { kind: 'settle'; permit: SignedPermit }
  /** What Permit2 may move of its owner's tokens. */
  | { kind: 'approve'; owner: Address; amount: bigint }
  /** The payer gives a nonce of Permit2 up. */
  | { kind: 'invalidate'; owner: Address; nonce: string }

export interface Tx {
  hash: Hex
  /** Null: sent from an account of its own, whose nonce holds nobody up. */
  lane: { wallet: Address; nonce: number; gas: number; maxFee: bigint; tip: bigint } | null
  actions: Action[]
}

export type Log =
  | { kind: 'used' | 'canceled'; index: number; key: AuthKey }
  | { kind: 'transfer'; index: number; from: Address; to: Address; value: bigint }
  /** Not a log of the real contracts, which change their state without one: a nonce is used, and so much was taken. */
  | { kind: 'permit'; index: number; owner: Address; nonce: string; taken: bigint }
  | { kind: 'approval'; index: number; owner: Address; amount: bigint }

export interface SimBlock extends Block {
  /** Virtual time at which it was made, which its timestamp only resembles. */
  minedAt: number
  /** What was final when it was made. */
  finalized: number
  baseFee: bigint
}

export interface Mined {
  tx: Tx
  block: SimBlock
  success: boolean
  logs: Log[]
  feeWei: bigint
}

/** A chain of blocks. Every state is computed from what was mined, so that a reorganisation is a shorter list. */
export interface Branch {
  blocks: SimBlock[]
  mined: Mined[]
}

/** A branch as seen from one of its blocks. */
export interface View {
  branch: Branch
  block: SimBlock
}

const FIRST_BLOCK = 100
/** Chains differ in height by far more than a history has blocks. */
const BETWEEN_CHAINS = 50_000

/** The number of the first block of the n-th chain. */
export const firstBlockOf = (index: number): number => FIRST_BLOCK + index * BETWEEN_CHAINS

export function blockAt(branch: Branch, number: number): SimBlock {
  const block = branch.blocks[number - branch.blocks[0]!.number]
  if (!block) throw new Error(`no block ${number}`)
  return block
}

/** What is mined on this branch up to the block of the view, in order. */
export function minedIn({ branch: { mined }, block }: View): readonly Mined[] {
  let end = mined.length
  while (end > 0 && mined[end - 1]!.block.number > block.number) end--
  return end === mined.length ? mined : mined.slice(0, end)
}

export function tokensOf(view: View, initial: ReadonlyMap<Address, bigint>, account: Address): bigint {
  let balance = initial.get(account) ?? 0n
  for (const { logs } of minedIn(view)) {
    for (const log of logs) {
      if (log.kind !== 'transfer') continue
      if (log.from === account) balance -= log.value
      if (log.to === account) balance += log.value
    }
  }
  return balance
}

/** The log that spent an authorization, and the one after it. */
export function useOf(
  view: View,
  key: AuthKey,
): { mined: Mined; log: Log; next: Log | undefined } | undefined {
  for (const mined of minedIn(view)) {
    for (const [index, log] of mined.logs.entries()) {
      if (log.kind !== 'used' && log.kind !== 'canceled') continue
      if (log.key.payer !== key.payer || log.key.nonce !== key.nonce) continue
      return { mined, log, next: mined.logs[index + 1] }
    }
  }
  return undefined
}

export function nonceOf(view: View, wallet: Address): number {
  let nonce = 0
  for (const { tx } of minedIn(view)) if (tx.lane?.wallet === wallet) nonce++
  return nonce
}

export function feesPaidBy(view: View, wallet: Address): bigint {
  let fees = 0n
  for (const { tx, feeWei } of minedIn(view)) if (tx.lane?.wallet === wallet) fees += feeWei
  return fees
}
