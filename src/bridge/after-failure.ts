import { type AuthorizationStatus, authorizationStatus } from '../buyer/authorization-status.ts'
import { BuyerError, type StoredPayment } from '../buyer/index.ts'
import { microToDollars } from '../protocol/amount.ts'
import { findNetwork } from '../protocol/networks.ts'
import { shortened } from './results.ts'

/** What the chain says of a payment that the seller did not answer for. */
export function statusOf(
  payment: StoredPayment,
  rpcUrls: Readonly<Record<string, string>>,
  nowMs: number,
): Promise<AuthorizationStatus> {
  const given = rpcUrls[payment.network]
  const nodes = given === undefined ? (findNetwork(payment.network)?.rpcUrls ?? []) : [given]
  return authorizationStatus(fetch, payment, nodes, nowMs)
}

interface Failed {
  payment: StoredPayment | undefined
  end: 'paid' | 'unused' | 'open'
  spentMicro: bigint
  maxAmount: string
  maxTotal: string
  allowedHosts: readonly string[]
  account: { address: string }
}

/** Why a purchase failed, what that means for the money, and what to do about it. */
export function afterFailure(error: Error, failed: Failed): string {
  return [sentence(shortened(messageOf(error))), moneyOf(failed), adviceOf(error, failed)]
    .filter((part) => part !== undefined)
    .join(' ')
}

function moneyOf({ payment, end }: Failed): string | undefined {
  if (!payment)
    return end === 'open'
      ? 'It may have been debited to credits. The same call continues it, and is debited once.'
      : undefined
  const price = microToDollars(BigInt(payment.amount))
  if (end === 'unused') return 'Nothing was charged.'
  if (end === 'paid') return `${price} was paid.`
  return `A payment of ${price} was signed and may still be charged. The same call sends the same payment again, and signs no other.`
}

function adviceOf(error: Error, failed: Failed): string | undefined {
  const { spentMicro, maxAmount, maxTotal, account, payment, end } = failed
  const isUnpaid = !payment && end !== 'open'
  if (!(error instanceof BuyerError)) return isUnpaid ? 'Nothing was paid.' : undefined
  switch (error.code) {
    case 'OVER_LIMIT':
      return `This bridge pays at most ${maxAmount} at once; the user can allow more by --max-amount.`
    case 'OVER_TOTAL':
      return (
        `This bridge spends at most ${maxTotal} a day, and ${microToDollars(spentMicro)} of it is spent or may still be charged. ` +
        'Nothing was paid. The next day begins at 00:00 UTC; the user can allow more by --max-total.'
      )
    case 'OFFER_REFUSED':
    case 'REDIRECTED':
      return `This bridge pays ${failed.allowedHosts.join(', ')} alone; the user can allow a host by --allow-host.`
    case 'INSUFFICIENT_FUNDS':
    case 'PAYMENT_FAILED':
      return `Does the wallet ${account.address} hold enough USDC?`
    case 'STILL_PENDING':
      return isUnpaid ? 'Nothing was paid.' : undefined
    case 'ANSWER_TOO_LARGE':
      return 'The bridge takes no longer answers; the same call would buy anew.'
    case 'ALREADY_USED':
      return 'The seller took the payment and gave no answer; the same call would buy anew.'
    default:
      return undefined
  }
}

/** The SDK's own words name its options; those of the bridge stand in the advice. */
function messageOf(error: Error): string {
  if (!(error instanceof BuyerError))
    return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
  if (error.code === 'OVER_TOTAL') return 'It would cost more than is left of today’s budget'
  return error.message
    .replace(/; raise maxAmount to buy this/, '')
    .replace('allowedHosts', 'the allowed hosts')
    .replace(', or set approvePermit2', '')
    .replace('; raise maxResponseBytes to take more', '')
    .replace(/\. The call may have been debited: the same call with the same Idempotency-Key .*/, '')
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
