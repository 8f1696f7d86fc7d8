import type { CreditRow } from '../../ports.ts'

/** Who spends: the holder of a purchase's token, or a wallet that signed in. */
export interface Spender {
  /** In lower case. */
  account: string
  planId: string
  resourceId: string
  /** The challengeId of the token's purchase. */
  purchase?: string | undefined
  /** Of a wallet that signed in: it has code, and is this wallet only there; null: its key signed. */
  network?: string | null | undefined
}

/** Credits set aside for one call: end it with `commit` or `giveBack`. */
export interface Reservation {
  id: string
  account: string
  planId: string
  resourceId: string
  payer: string
  credits: number
  /** What is left beside it. */
  remaining: number
  /** The purchase that pays, or the first of them. */
  purchase: Pick<CreditRow, 'key' | 'txHash' | 'paidOn' | 'requestId'>
  /** The one network whose purchases may pay; null: all. */
  network: string | null
  callKey?: string
}

/** What an account has. `granted` and `spent` are of purchases that still run. */
export interface CreditBalance {
  planId: string
  resourceId: string
  granted: number
  spent: number
  reserved: number
  remaining: number
  /** When the last of them ends (ms); null: there are none. */
  expiresAt: number | null
  /** Each purchase, in the order in which they are spent. */
  lots: Array<{ challengeId: string; granted: number; spent: number; remaining: number; expiresAt: number }>
}
