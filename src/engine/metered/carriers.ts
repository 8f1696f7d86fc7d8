import type { AuthorizationRow } from '../../ports.ts'
import type { OpenRail } from '../rails.ts'

/** Every wallet transaction that has carried this payment, as far as it is known. */
export function carriersOf({ walletTx, earlierTxs = [] }: AuthorizationRow): string[] {
  return walletTx === null ? earlierTxs : [...earlierTxs, walletTx]
}

/**
 * The row with another wallet transaction, or with none yet. A metered payment is found only in the transactions that
 * carried it, and a reorganisation may bring an earlier one back, so it remembers them.
 */
export function carriedBy(
  { scheme }: OpenRail,
  row: AuthorizationRow,
  walletTx: string | null,
): AuthorizationRow {
  const next = { ...row, walletTx }
  return scheme.metered && row.walletTx !== null ? { ...next, earlierTxs: carriersOf(row) } : next
}
