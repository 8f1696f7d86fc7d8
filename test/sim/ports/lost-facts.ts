import type { Step } from '../../../src/ports.ts'

/** Everything that a lost commit contained: only there may an invariant be weaker afterwards. */
export interface LostFacts {
  challenges: Set<string>
  requests: Set<string>
  /** Keys of authorizations, receipts and refunds. */
  payments: Set<string>
  payers: Set<string>
}

export function noLostFacts(): LostFacts {
  return { challenges: new Set(), requests: new Set(), payments: new Set(), payers: new Set() }
}

export function noteLost(lost: LostFacts, { puts, removes = [] }: Step): void {
  for (const { table, row } of puts) {
    if (table === 'challenges') {
      lost.challenges.add(row.key)
      lost.requests.add(row.requestId)
      if (row.payer !== null) lost.payers.add(row.payer)
    }
    if (table === 'requests') lost.requests.add(row.key)
    if ('challengeId' in row) lost.challenges.add(row.challengeId)
    if (table === 'authorizations') lost.payers.add(row.payer)
    if (table === 'receipts') lost.payers.add(row.payer)
    if (table === 'refunds') lost.payers.add(row.recipient)
    if (table === 'authorizations' || table === 'receipts' || table === 'refunds') lost.payments.add(row.key)
  }
  for (const { table, key } of removes) {
    if (table === 'challenges') lost.challenges.add(key)
    if (table === 'requests') lost.requests.add(key)
    if (table === 'authorizations') lost.payments.add(key)
  }
}
