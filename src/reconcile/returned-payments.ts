import type { Network, Token } from '../protocol/network.ts'
import { unitsToDollars } from '../rules/token-amount.ts'
import { authorizationKey } from '../schemes/exact/authorization.ts'
import { refundNonceOf } from '../schemes/exact/refund-nonce.ts'
import type { Discrepancy } from './discrepancy.ts'
import { type LedgerIndex, placeKey } from './ledger-index.ts'
import type { Movement, TokenBook } from './token-book.ts'

/** A payment that the ledger does not know, and the refund of it. */
interface Returned {
  payment: Movement
  refund: Movement
}

/**
 * Payments that the ledger does not know, because an old backup was restored or a store forgot them, and that went back
 * before: the nonce of a refund follows from its payment. Nothing is owed for them; whoever paid them back by hand would pay twice.
 */
export async function findReturned(parts: {
  index: Pick<LedgerIndex, 'byPlace' | 'receipts' | 'unsettled'>
  book: Pick<TokenBook, 'nonceOf' | 'permitOf'>
  network: Network
  incoming: readonly Movement[]
  outgoing: readonly Movement[]
}): Promise<Returned[]> {
  const { index, book, network, incoming, outgoing } = parts
  const unknown = new Map<string, Movement>()
  for (const payment of incoming) {
    if (index.byPlace.has(placeKey(payment))) continue
    const nonce = await book.nonceOf(payment)
    const key = nonce ? authorizationKey(network, payment.from, nonce) : await book.permitOf(payment)
    if (key === undefined || index.receipts.has(key) || index.unsettled.has(key)) continue
    unknown.set(refundNonceOf(key, network.token.address), payment)
  }
  const payers = new Set([...unknown.values()].map(({ from }) => from))
  const returned: Returned[] = []
  for (const refund of outgoing) {
    const nonce = payers.has(refund.to) ? await book.nonceOf(refund) : undefined
    const payment = nonce && unknown.get(nonce)
    if (payment && payment.from === refund.to) returned.push({ payment, refund })
  }
  return returned
}

export function describeReturned({ payment, refund }: Returned, token: Token): Discrepancy {
  const { from, value } = payment
  return {
    kind: 'refund-unrecorded',
    level: 'warn',
    challengeId: null,
    txHash: refund.txHash,
    message: `${from} paid ${unitsToDollars(token, value)} in ${payment.txHash}, which the ledger does not know, and got it back`,
    fix: 'Nothing is owed. Was an old backup restored? Note both transactions in your own books.',
  }
}
