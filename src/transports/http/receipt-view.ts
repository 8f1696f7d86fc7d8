import type { Dossier } from '../../engine/outcome.ts'
import type { ChallengeState, ChallengeStatus } from '../../protocol/access.ts'
import { microToDollars } from '../../protocol/amount.ts'
import type { Network } from '../../protocol/network.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import type { Catalog } from '../../rules/catalog.ts'

/** A transaction, with its page on an explorer if one is known. */
export interface ShownTransaction {
  hash: string
  explorerUrl?: string
}

/**
 * A purchase as `GET /receipts/:id` shows it. Everything but the first fields is absent where nothing was bought; a metered
 * call that cost nothing has no payment.
 */
export interface ReceiptView {
  type: 'Purchase'
  challengeId: string
  state: ChallengeState
  seller: string
  /** ISO 8601. */
  expiresAt: string
  item?: { kind: 'plan' | 'route'; id: string; description: string; resourceId: string; call?: string }
  /** In dollars: `$1.00`. */
  price?: string
  /** Of a metered call: the most that it could cost; `price` is what was charged. */
  maximum?: string
  /** The symbol of the token. */
  token?: string
  network?: { id: string; name: string; testnet?: true }
  payer?: string
  payTo?: string
  paidAt?: string
  deliveredAt?: string
  refundedAt?: string
  transaction?: ShownTransaction
  /** The chain dropped the payment after it was confirmed. */
  paymentLost?: true
  refundTransaction?: ShownTransaction
  /** Signed (JWS). */
  receipt?: string
  refundReceipt?: string
}

export interface ViewParts {
  seller: string
  networks: readonly Network[]
  catalog: Catalog
}

/** A challenge that nobody has paid. */
export function unpaidView({ challengeId, state, expiresAt }: ChallengeStatus, seller: string): ReceiptView {
  return { type: 'Purchase', challengeId, state, seller, expiresAt }
}

export function viewOf(dossier: Dossier, { seller, networks, catalog }: ViewParts): ReceiptView {
  const { challenge, receipts } = dossier
  const expiresAt = iso(challenge.expiresAt)
  const unpaid = unpaidView({ challengeId: challenge.key, state: challenge.state, expiresAt }, seller)
  const { txHash, payer, paidAt, charged } = challenge
  const isPaid = txHash !== null && paidAt !== null
  if (payer === null || (!isPaid && charged !== '0')) return unpaid
  const { kind, itemId, resourceId, resource, network: networkId } = challenge
  const network = [...networks, ...NETWORKS].find(({ id }) => id === networkId)
  const shown = (hash: string): ShownTransaction => ({
    hash,
    ...(network && { explorerUrl: network.explorerTxUrl + hash }),
  })
  const timeOf = (...events: string[]) => dossier.audit.find(({ event }) => events.includes(event))?.at
  const deliveredAt = timeOf('delivered')
  const refundedAt = timeOf('refund-confirmed', 'refund-proven')
  const known = (kind === 'plan' ? catalog.plans : catalog.routes).get(itemId)
  return {
    ...unpaid,
    item: {
      kind,
      id: itemId,
      description: known?.description ?? itemId,
      resourceId,
      ...(resource && { call: `${resource.method} ${resource.path}` }),
    },
    price: microToDollars(BigInt(charged ?? challenge.amount)),
    ...(charged !== undefined && { maximum: microToDollars(BigInt(challenge.amount)) }),
    ...(network && { token: network.token.symbol }),
    network: {
      ...{ id: networkId, name: network?.name ?? networkId },
      ...(network?.testnet && { testnet: true as const }),
    },
    payer,
    ...(isPaid && { payTo: challenge.payTo, paidAt: iso(paidAt), transaction: shown(txHash) }),
    ...(deliveredAt !== undefined && { deliveredAt: iso(deliveredAt) }),
    ...(refundedAt !== undefined && { refundedAt: iso(refundedAt) }),
    ...(receipts.some(({ key, lost }) => key === challenge.receipt && lost) && {
      paymentLost: true as const,
    }),
    ...(challenge.refundTxHash !== null && { refundTransaction: shown(challenge.refundTxHash) }),
    ...(challenge.signedReceipt !== undefined && { receipt: challenge.signedReceipt }),
    ...(challenge.signedRefund !== undefined && { refundReceipt: challenge.signedRefund }),
  }
}

const iso = (ms: number): string => new Date(ms).toISOString()
