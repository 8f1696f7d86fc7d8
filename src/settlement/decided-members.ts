import type { AuthorizationRow, RefundRow, Store, WalletTxRow } from '../ports.ts'

/** Can no member of this transaction be paid by it any more? Only then its nonce may be used for something else. */
export async function areMembersDecided(store: Store, { key, members }: WalletTxRow): Promise<boolean> {
  const keysOf = (wanted: 'payment' | 'refund') =>
    members.flatMap((member) => (member.kind === wanted ? [member.key] : []))
  const [payments, refunds] = await Promise.all([
    store.get('authorizations', keysOf('payment')),
    store.get('refunds', keysOf('refund')),
  ])
  return (
    payments.every((row) => !row || isPaymentDecided(row, key)) &&
    refunds.every((row) => !row || isRefundDecided(row, key))
  )
}

function isPaymentDecided({ phase, walletTx, earlierTxs }: AuthorizationRow, key: string): boolean {
  if (phase === 'CONFIRMED' || phase === 'DEAD') return true
  return walletTx !== key && !earlierTxs?.includes(key)
}

function isRefundDecided({ phase, walletTx }: RefundRow, key: string): boolean {
  return phase !== 'BROADCAST' || walletTx !== key
}
