import type { ChallengeRow, RefundRow, SignedReceipt } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { resourceUrl } from '../../rules/resource-url.ts'
import type { Core } from '../core.ts'

type PaidRow = Pick<ChallengeRow, 'network' | 'payer' | 'txHash' | 'resource' | 'url'>

/** What the receipts of a sale and of its refund have in common; undefined if nothing was paid. */
function paymentFacts(core: Core, { network, payer, txHash, resource, url }: PaidRow, at: number) {
  if (payer === null || txHash === null) return undefined
  return {
    version: 1 as const,
    network,
    resourceUrl: resourceUrl(core.config.baseUrl, { url, resource }),
    payer,
    issuedAt: Math.floor(at / 1000),
    transaction: txHash,
  }
}

/** The field that a new row needs where the call was made elsewhere than the gateway's base URL says. */
export function urlField(
  core: Core,
  { resource }: Pick<ChallengeRow, 'resource'>,
  url: string | undefined,
): { url?: string } {
  return url === undefined || url === resourceUrl(core.config.baseUrl, { resource }) ? {} : { url }
}

/** Signs that this challenge was paid and delivered. Undefined where receipts are not signed. */
export function signReceipt(core: Core, row: PaidRow, at: number): SignedReceipt | undefined {
  const receipt = paymentFacts(core, row, at)
  if (!core.receipts || !receipt) return undefined
  return { transaction: receipt.transaction, jws: core.receipts.sign(receipt) }
}

/**
 * The receipt to store with a delivery: the one that the buyer already got with the answer, unless a reorganisation has
 * given the payment another transaction since.
 */
export function receiptFields(
  core: Core,
  row: PaidRow,
  at: number,
  sent?: SignedReceipt,
): Pick<ChallengeRow, 'signedReceipt'> {
  const signed = sent && sent.transaction === row.txHash ? sent : signReceipt(core, row, at)
  return signed ? { signedReceipt: signed.jws } : {}
}

/** The receipt to store with REFUNDED. */
export function refundReceiptFields(
  core: Core,
  row: PaidRow & Pick<ChallengeRow, 'asset'>,
  { value }: Pick<RefundRow, 'value'>,
  refundTransaction: Hex,
  at: number,
): Pick<ChallengeRow, 'signedRefund'> {
  const facts = paymentFacts(core, row, at)
  if (!core.receipts || !facts) return {}
  const { asset } = row
  return {
    signedRefund: core.receipts.sign({ ...facts, type: 'refund', asset, amount: value, refundTransaction }),
  }
}
