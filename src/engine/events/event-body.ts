import type { ChallengeRow, WebhookRow } from '../../ports.ts'
import type { WebhookBody } from '../../protocol/events.ts'

/**
 * What an endpoint is sent. What changed is taken from the transition, and what never changes from the challenge, so that
 * every try says the same. `explorerTxUrl`: of a network.
 */
export function eventBody(
  { type, challengeId, requestId, facts }: Omit<WebhookRow, 'phase'>,
  challenge: ChallengeRow | undefined,
  explorerTxUrl: (network: string) => string,
): WebhookBody {
  const timestamp = new Date(facts.at).toISOString()
  if (facts.alert) return { type, timestamp, data: { ...facts.alert } }
  const { details = {}, txHash, state } = facts
  // A payment beside the one that the challenge names may have been made by somebody else, on another network.
  const { network: elsewhere, asset } = details
  const place = elsewhere === undefined ? {} : { network: elsewhere, asset }
  const network = String(elsewhere ?? challenge?.network)
  const payment = isOfPayment(facts) ? txHash : elsewhere === undefined ? challenge?.txHash : undefined
  const payer = details.payer ?? challenge?.payer
  return {
    type,
    timestamp,
    data: {
      challengeId,
      requestId,
      ...(state && { state }),
      ...(challenge && saleOf(challenge)),
      ...place,
      ...(payer && { payer }),
      ...(payment && { txHash: payment, explorerUrl: `${explorerTxUrl(network)}${payment}` }),
      ...(details.reason && { reason: details.reason }),
      ...(type.startsWith('refund.') && { refund: refundOf(facts) }),
      ...(type === 'credits.low' && {
        credits: { granted: details.granted, spent: details.spent, remaining: details.remaining },
      }),
    },
  }
}

/** The transaction that it names is the payment's. */
const isOfPayment = ({ event = '' }: WebhookRow['facts']): boolean => PAYMENT_EVENTS.has(event)
const PAYMENT_EVENTS = new Set(['paid', 'receipt-lost', 'surplus-received'])

function saleOf(row: ChallengeRow) {
  const { kind, itemId, resourceId, resource, charged, network, asset, clientAgentId } = row
  return {
    ...(kind === 'plan' ? { planId: itemId } : { routeId: itemId }),
    resourceId,
    ...(resource && { resource }),
    amount: charged ?? row.amount,
    ...(charged !== undefined && { maximum: row.amount }),
    network,
    asset,
    ...(clientAgentId !== null && { clientAgentId }),
  }
}

/** `value` is in units of the token; a refund of the whole payment that is only owed yet does not name it. */
function refundOf({ event = '', txHash, details = {} }: WebhookRow['facts']) {
  const of = event.startsWith('surplus-') ? 'surplus' : event.startsWith('credits-') ? 'credits' : 'payment'
  const settled = /refunded$|confirmed$|proven$/.test(event)
  const arrived = event === 'surplus-received' || event === 'late-money'
  return {
    of,
    ...(details.value !== undefined && { value: details.value }),
    ...(settled && txHash !== undefined && { txHash }),
    ...(arrived && txHash !== undefined && { paidWith: txHash }),
  }
}
