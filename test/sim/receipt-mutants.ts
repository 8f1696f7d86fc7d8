import type { SourceMutant } from './source-mutant.ts'

const storm = 'nodes that lag further behind than finality'

/** Mistakes with what buyers can show to others. */
export const RECEIPT_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'a receipt is signed with the payment, before the delivery',
    file: 'engine/settle/confirm',
    from: "const paid = applyEvent(before, 'paid', facts, { ...payment, ...next })",
    to: "const paid = applyEvent(before, 'paid', facts, { ...payment, ...next, ...receiptFields(core, { ...before.row, ...payment }, facts.at) })",
  },
  {
    name: 'a replay has a receipt that was signed anew',
    file: 'engine/deliver/settled-outcome',
    from: 'const shared = { settled: settledPayment(challenge), cached: first }',
    to: 'const shared = { settled: { ...settledPayment(challenge), ...(core.receipts && { receipt: core.receipts.sign({ payer }) }) }, cached: first }',
  },
  {
    name: 'a receipt is signed anew whenever its payment changes its block',
    storm,
    file: 'engine/settle/confirm',
    from: 'if (challenge.receipt === receipt.key && challenge.txHash !== use.txHash)',
    to: 'if (challenge.receipt === receipt.key)',
  },
  {
    name: 'a receipt names a transaction that a reorganisation replaced',
    storm,
    file: 'engine/settle/confirm',
    from: 'challenge.signedReceipt === undefined ? {} : receiptFields(core, moved, core.clock.now())',
    to: '{}',
  },
]
