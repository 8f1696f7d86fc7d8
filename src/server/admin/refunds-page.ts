import type { RefundRow } from '../../ports.ts'
import { microToDollars } from '../../protocol/amount.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import { apiReply } from '../api-reply.ts'
import type { AdminParts } from './admin-parts.ts'
import { sumMicro } from './export-sales.ts'
import { type FindNetwork, knownNetworks } from './known-networks.ts'
import { type OpenRefund, openRefunds } from './open-refunds.ts'
import { showSale } from './sale.ts'

/** Everything that should go back and has not yet: an item for each payment that goes back. */
export async function refundsPage({ gateway, book }: Pick<AdminParts, 'gateway' | 'book'>) {
  const { store, networks } = gateway.backstage
  await book.refresh()
  const find = await knownNetworks(store, networks)
  const open = await openRefunds(store, book)
  const keys = open.flatMap(({ refund }) => refund?.key ?? [])
  const receipts = keys.length === 0 ? [] : await store.get('receipts', keys)
  const paying = new Set(receipts.flatMap((row) => (row?.role === 'pays' ? [row.key] : [])))
  return apiReply(200, { items: open.map((one) => showRefund(one, find, paying)) })
}

function showRefund({ sale, refund, failed }: OpenRefund, find: FindNetwork, paying: ReadonlySet<string>) {
  // It is of the payment itself, and its sale stays delivered.
  const ofCredits = refund !== undefined && !refund.movesState && paying.has(refund.key)
  const since = sale.refundSince ?? sale.row.paidAt ?? sale.row.createdAt
  return {
    ...showSale(sale, sale.row),
    ...(refund && moneyOf(refund, find)),
    reason: refund?.reason ?? null,
    attempts: refund?.attempts ?? 0,
    since: new Date(since).toISOString(),
    failed,
    surplus: refund ? !refund.movesState && !ofCredits : false,
    ...(ofCredits && { credits: true }),
  }
}

/** A second payment may be of another wallet, network and value than the sale's own, and goes back as it came. */
function moneyOf(refund: RefundRow, find: FindNetwork) {
  // A token that nobody knows is shown as if it had six decimals.
  const micro = sumMicro([refund], find) ?? BigInt(refund.value)
  return {
    micro: micro.toString(),
    usd: microToDollars(micro),
    network: networkOfRail(refund.rail),
    payer: refund.recipient,
  }
}
