import type { SourceMutant } from './source-mutant.ts'

const storm = 'metered calls, and payers that take back what they signed'
const streamed = 'answers that go out before they are paid'
const reorganised = 'metered calls, in blocks that go away'

/** Mistakes with calls whose price is known afterwards. */
export const METER_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'metered: more is charged than was signed',
    storm,
    file: 'rules/charge',
    from: 'return asked > maximum ? { units: maximum, above: asked } : { units: asked }',
    to: 'return { units: asked }',
  },
  {
    name: 'metered: the maximum is charged, whatever the call cost',
    storm,
    file: 'engine/metered/charge-call',
    from: 'const micro = microOf(token, charge.units)',
    to: 'const micro = microOf(token, BigInt(attempt.value))',
  },
  {
    name: 'metered: the answer goes out before its charge is settled',
    storm,
    file: 'engine/metered/call-metered',
    from: "if (charged.kind !== 'refused')",
    to: "if (charged.kind === 'charged') return { kind: 'answered', outcome: { kind: 'resource', response: called.response, settled: { network: rail.network.id, payer: attempt.payer, amount: charged.attempt.value }, cached: false } }; if (charged.kind !== 'refused')",
  },
  {
    name: 'metered: an answer whose charge is no amount goes out for nothing',
    storm,
    file: 'engine/metered/call-metered',
    from: 'return withhold(core, claimed, charged.reason)',
    to: 'return failCall(core, claimed, called, charged.reason)',
  },
  {
    name: 'metered: a payer whose gas budget is spent is called for, and charged, all the same',
    storm: 'metered calls whose transactions wait while their payers take the allowance back',
    file: 'engine/metered/call-metered',
    from: 'const refused = costly.get(row.key)',
    to: 'const refused = undefined',
  },
  {
    name: 'metered: what was sent once is sent again',
    storm,
    file: 'engine/jobs/run-jobs',
    from: "const charged = phase('CHARGED')",
    to: "const charged = [...phase('CHARGED'), ...phase('BROADCAST')]",
  },
  {
    name: 'metered: a failed call is charged',
    storm,
    file: 'engine/metered/call-metered',
    from: 'if (called.ok) {',
    to: 'if (called.ok || called.reason) {',
  },
  {
    name: 'metered: what the calls of a payer may cost together is not counted',
    storm,
    file: 'engine/budgets/exposure',
    from: 'if (total <= Number(funds))',
    to: 'if (total >= 0)',
  },
  {
    name: 'metered: an answered call is released, and its answer lost',
    storm,
    file: 'engine/settle/release-claim',
    from: "if (attempt.phase !== 'CLAIMED')",
    to: "if (attempt.phase !== 'CLAIMED' && attempt.phase !== 'CHARGED')",
  },
  {
    name: 'metered: the answer is not stored with its charge',
    storm,
    file: 'engine/metered/charge-call',
    from: 'answer: sealed,',
    to: '',
  },
  {
    name: 'metered: what cannot be settled now is given up, although it was sent',
    storm,
    file: 'engine/settle/broadcast',
    from: "if (refusal && attempt.phase === 'CHARGED') {",
    to: "if (refusal && attempt.phase !== 'CLAIMED' && rail.scheme.metered) {",
  },
  {
    name: 'metered: its settlement counts as a plain transfer too',
    storm,
    file: 'engine/settle/redeem-transfer',
    from: 'if (await isSettler(core, rail, found.sender))',
    to: 'if (found === null)',
  },
  {
    name: 'metered: failed calls are not counted against their payer',
    storm: 'metered calls that fail on purpose, many at once',
    file: 'engine/settle/release-claim',
    from: 'await settleHolds(core, undelivered ? [undelivered] : [], undeliveredAs)',
    to: "await settleHolds(core, undelivered ? [undelivered] : [], 'returned')",
  },
  {
    name: 'metered: the hold of an unpaid call outlives it',
    storm,
    file: 'engine/budgets/holds',
    from: 'if (row.spent && !isExposure(row))',
    to: 'if (row.spent && isExposure(row)) return; if (row.spent)',
  },
  {
    name: 'metered: a payment is looked for in its last transaction only',
    storm: reorganised,
    file: 'engine/metered/carriers',
    from: 'return scheme.metered && row.walletTx !== null ?',
    to: 'return scheme.metered && row.walletTx === undefined ?',
  },
  {
    name: 'streams: to payers that have never paid',
    storm: streamed,
    file: 'engine/metered/stream-call',
    from: "if (!(await getOne(core, 'marks', hasPaidKey(rail, payer))))",
    to: "if (!(await getOne(core, 'marks', hasPaidKey(rail, payer))) && payer.length === 0)",
  },
  {
    name: 'streams: to payers whose charge may still go away',
    storm: streamed,
    file: 'engine/settle/follow-receipts',
    from: "return commit(core, { puts: [{ table: 'receipts', row: { ...row, dueAt } }] })",
    to: 'return rememberPaid(core, rail, row.payer)',
  },
  {
    name: 'streams: more goes out to a payer than its limit',
    storm: streamed,
    file: 'engine/metered/stream-call',
    from: 'limit: limits.perPayer }',
    to: 'limit: limits.inAll }',
  },
  {
    name: 'streams: more goes out to all than their limit',
    storm: streamed,
    file: 'engine/metered/stream-call',
    from: 'limit: limits.inAll }',
    to: 'limit: limits.inAll * 9 }',
  },
  {
    name: 'streams: what was never paid is forgiven',
    storm: 'answers that are read and never paid',
    file: 'engine/metered/stream-call',
    from: "await settleHolds(core, streamed, 'spent')",
    to: "await settleHolds(core, streamed, 'returned')",
  },
]
