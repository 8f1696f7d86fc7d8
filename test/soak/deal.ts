import type { Hex } from '../../src/protocol/hex.ts'
import type { DevAccount } from '../../src/testing/index.ts'

/** What one answer of the shop means for whoever paid. */
export type Said =
  /** `chargedMicro` is absent where the price was fixed. */
  | { kind: 'delivered'; result: string; txHash: string; chargedMicro?: bigint }
  /** The backend failed: the same payment calls again, or goes back. */
  | { kind: 'call-failed' }
  /** Paid, and on its way back. */
  | { kind: 'refunded' }
  /** Not known yet, or there was no answer: the same payment has to be sent again. */
  | { kind: 'pending'; text?: string }
  /** No money moved. */
  | { kind: 'unpaid'; code: string }
  /** Nothing that an honest buyer may hear. */
  | { kind: 'odd'; text: string }

/** One purchase as its buyer knows it. It is written down before its payment is first sent. */
export interface Deal {
  way: string
  payer: Hex
  /** Either of them finds it in the ledger. */
  challengeId?: string
  requestId?: string
  /** What was signed for. */
  priceMicro: bigint
  /** Sends the very same payment to the instance at this address. */
  send(origin: string, signal: AbortSignal): Promise<Said>
  began: number
  end?: 'delivered' | 'refunded' | 'unpaid'
  /** What the buyer holds in hand. */
  got?: { result: string; txHash: string; chargedMicro: bigint }
  /** How often it was sent. */
  sends: number
  /** The last answer, for a report. */
  heard?: Said
}

/** What all buyers know together: their purchases, their prepaid calls, and what they complain of. */
export interface Hands {
  deals: Deal[]
  accounts: Map<Hex, Prepaid>
  complaints: string[]
}

/** The prepaid calls of one wallet. */
export interface Prepaid {
  wallet: DevAccount
  token: string
  /** The answer of each call that was served, by its Idempotency-Key. */
  served: Map<string, string>
  /** Calls without a decision yet: they are sent again at the end. */
  open: Map<string, string>
}

export const createHands = (): Hands => ({ deals: [], accounts: new Map(), complaints: [] })

/** Takes an answer down. What a buyer was told is never taken back, and a result never changes. */
export function hear({ complaints }: Hands, deal: Deal, said: Said): void {
  const who = `${deal.way} ${deal.challengeId ?? deal.requestId}`
  deal.heard = said
  if (said.kind === 'odd') complaints.push(`${who} was told ${said.text}`)
  if (said.kind === 'delivered') {
    const { result, txHash, chargedMicro = deal.priceMicro } = said
    if (deal.end === 'refunded') complaints.push(`${who} was delivered after it was told of a refund`)
    if (deal.got && deal.got.result !== result)
      complaints.push(`${who} got two results: ${deal.got.result} and ${result}`)
    if (deal.got && deal.got.chargedMicro !== chargedMicro)
      complaints.push(`${who} was told two charges: ${deal.got.chargedMicro} and ${chargedMicro}`)
    deal.got ??= { result, txHash, chargedMicro }
    // A reorganisation aside, the transaction stays the same as well; the last answer is the one to compare.
    deal.got.txHash = txHash
    deal.end = 'delivered'
  }
  if (said.kind === 'refunded' || said.kind === 'unpaid') {
    if (deal.got) complaints.push(`${who} had its result and was told ${JSON.stringify(said)}`)
    else deal.end = said.kind
  }
}
