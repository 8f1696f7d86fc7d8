import type { Address } from '../../../src/protocol/hex.ts'

/**
 * What stands at a payer's address. `flips`: a wallet contract that says yes when asked and may say no when it
 * matters; `burns`: one that eats all gas of the transaction; `turns`: looks like a plain account until it is mined.
 */
export type Code = 'none' | 'flips' | 'burns' | 'turns'

export interface Token {
  chainId: number
  initial: ReadonlyMap<Address, bigint>
  codes: ReadonlyMap<Address, Code>
  /** What Permit2 may move at first; absent: nothing. */
  allowances: ReadonlyMap<Address, bigint>
}
