import type { Backstage } from '../../backstage.ts'
import type { RefundRow } from '../../ports.ts'
import type { Network } from '../../protocol/network.ts'
import { assetOfRail, networkOfRail } from '../../rules/rail-id.ts'
import { roundedMicroDollars } from '../../rules/token-amount.ts'
import type { ShowableSale } from './find-sales.ts'
import type { SalesBook } from './sales-book.ts'

/** Money that should go back and has not yet. A sale has one for each payment that goes back. */
export interface OpenRefund {
  sale: ShowableSale
  /** Undefined: a call that is paid and not answered yet; its refund begins if it fails. */
  refund: RefundRow | undefined
  failed: boolean
}

const AT_ONCE = 50

/** Every one, that of the newest sale first. */
export async function openRefunds(
  store: Pick<Backstage['store'], 'list'>,
  book: Pick<SalesBook, 'awaitingRefund'>,
): Promise<OpenRefund[]> {
  const sales = book.awaitingRefund()
  const found: OpenRefund[] = []
  for (let start = 0; start < sales.length; start += AT_ONCE) {
    const some = sales.slice(start, start + AT_ONCE)
    found.push(...(await Promise.all(some.map((sale) => refundsOf(store, sale)))).flat())
  }
  return found
}

async function refundsOf(store: Pick<Backstage['store'], 'list'>, sale: ShowableSale): Promise<OpenRefund[]> {
  const rows = await store.list('refunds', sale.challengeId)
  const open = rows.filter(({ phase }) => phase !== 'DONE' && phase !== 'VOID')
  const own: OpenRefund = { sale, refund: undefined, failed: sale.state === 'REFUND_FAILED' }
  const unanswered = open.length === 0 || (sale.state === 'PAID' && sale.row.kind === 'route')
  return [
    ...(unanswered ? [own] : []),
    ...open.map((refund): OpenRefund => ({ sale, refund, failed: refund.phase === 'FAILED' })),
  ]
}

/**
 * What the refund wallet of a network owes, in micro-dollars. A second payment may have come on another network than the
 * sale's, and goes back there; what came in a former token of the network cannot be paid in this one.
 */
export function owedOn({ id, token }: Network, open: readonly OpenRefund[]): bigint {
  const units = open
    .flatMap(({ refund }) => refund ?? [])
    .filter(({ rail }) => networkOfRail(rail) === id && assetOfRail(rail) === token.address)
    .reduce((sum, { value }) => sum + BigInt(value), 0n)
  return roundedMicroDollars(token, units.toString())
}
