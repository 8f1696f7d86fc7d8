import { CHAIN_MUTANTS } from './chain-mutants.ts'
import { CREDIT_MUTANTS } from './credit-mutants.ts'
import { EVENT_MUTANTS } from './event-mutants.ts'
import { METER_MUTANTS } from './meter-mutants.ts'
import { MPP_MUTANTS } from './mpp-mutants.ts'
import { RECEIPT_MUTANTS } from './receipt-mutants.ts'
import type { SourceMutant } from './source-mutant.ts'

export const SOURCE_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'a result goes to any request with the public signature',
    file: 'rules/ownership',
    from: 'return claimed !== null && shown !== null && timingSafeEqual(Buffer.from(claimed), Buffer.from(shown))',
    to: 'return true',
  },
  {
    name: 'a challenge expires although a payment is in flight',
    file: 'engine/settle/check-payment',
    from: "state === 'PENDING' && liveAuth === null && core.clock.now()",
    to: "state === 'PENDING' && core.clock.now()",
  },
  {
    name: 'a payment is known by its payer alone',
    file: 'schemes/exact/authorization',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '`${chainId}:${token.address}:${payer}:${nonce}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '`${chainId}:${token.address}:${payer}:0x0`',
  },
  {
    name: 'a plain transfer is known by its log index, which a reorganisation changes',
    file: 'engine/settle/redeem-transfer',
    from: 'transfers.map(({ ordinal }) =>',
    to: 'transfers.map(({ logIndex: ordinal }) =>',
    storm: 'transfers as proof, and thieves who watch for them',
  },
  {
    name: 'a transfer is lost once the record of its offer is deleted',
    file: 'engine/challenge/rebuild-offer',
    from: 'return row',
    to: 'return undefined',
    storm: 'transfers that are proven after the record of their offer was deleted',
  },
  {
    name: "anybody may show a stranger's transfer",
    file: 'engine/settle/redeem-transfer',
    from: 'senders.find((_, index) => signed[index])',
    to: 'senders[0]',
  },
  {
    name: 'an abandoned payment is no longer watched',
    file: 'engine/settle/resolve',
    from: "verdict.kind === 'failed' && finalized !== undefined && isDead(signed, use, finalized)",
    to: 'true',
  },
  {
    name: 'a payment is dead before its time is over',
    file: 'rules/judge-attempt',
    from: 'return BigInt(finalized.timestamp) >= BigInt(validBefore)',
    to: 'return true',
  },
  {
    name: 'a refund goes out before its payment is final',
    file: 'engine/refund/run-refunds',
    from: 'receipts[index]?.finalized',
    to: 'receipts[index] !== undefined',
  },
  {
    name: 'what was paid twice is kept',
    file: 'engine/settle/confirm',
    from: '[...puts, refundOf(receipt, rail, false, at)]',
    to: '[...puts]',
  },
  {
    name: 'money for an expired challenge buys it',
    file: 'rules/judge-attempt',
    from: "? 'late' : 'surplus'",
    to: "? 'pays' : 'surplus'",
  },
  {
    name: 'money for an expired challenge is kept',
    file: 'engine/settle/confirm',
    from: 'refundOf(receipt, rail, true, at)]',
    to: ']',
  },
  {
    name: "an attempt that came to nothing is answered with another payer's result",
    storm: 'several payers of one order, slow delivery, short leases',
    file: 'engine/deliver/settled-outcome',
    from: 'if (challenge.payer !== null && !isPaidBy(challenge, owner))',
    to: 'if (challenge.payer === undefined)',
  },
  {
    name: '"expired" is answered before it is stored',
    storm: 'clocks that disagree on what has expired',
    file: 'engine/settle/check-payment',
    from: 'if (storedAsPending && !(await expireChallenge(core, challenge)))',
    to: 'if (storedAsPending === undefined)',
  },
  {
    name: '"expired" is answered without looking the challenge up',
    storm: 'clocks that disagree on what has expired',
    file: 'engine/settle/check-payment',
    from: 'if (lookupSkipped && (closed || disagreement))',
    to: 'if (closed === null)',
  },
  {
    name: 'a search that ended below the final block decides',
    storm: 'nodes that lag further behind than finality',
    file: 'engine/settle/final-uses',
    from: 'if (at.number < finalized.number)',
    to: 'if (at.number < 0)',
  },
  {
    name: 'every block that a node names is believed',
    storm: 'nodes that name blocks which do not exist',
    file: 'engine/settle/chain-head',
    from: 'if (doubt !== undefined) {',
    to: 'if (doubt === null) {',
  },
  {
    name: 'a receipt does not follow its transfer through a reorganisation',
    file: 'engine/settle/follow-receipts',
    from: 'if (moved)',
    to: 'if (moved === undefined)',
  },
  {
    name: 'a payment that the chain dropped for good is never noticed',
    file: 'engine/settle/follow-receipts',
    from: 'if (isDead(signed, use, finalized))',
    to: 'if (isDead === undefined)',
  },
  {
    name: 'what a crash left in flight is never looked at again',
    file: 'engine/jobs/run-jobs',
    from: 'if (sent.length > 0)',
    to: 'if (sent.length < 0)',
  },
  {
    name: 'any amount will do',
    file: 'rules/check-claims',
    from: "if (about !== 'amount' || value === terms.amount)",
    to: "if (about !== 'payer')",
    also: {
      from: 'if (sameHex(value, terms[about]))',
      to: "if (about === 'amount' || sameHex(value, terms[about]))",
    },
  },
  {
    name: 'an id that we never issued is believed',
    file: 'engine/challenge/proven-draft',
    from: 'if (!proves(terms) && !(unnamed && proves({ ...terms, credits: 0 })))',
    to: 'if (amount !== (echoed ?? amount))',
  },
  {
    name: 'a delivered call is made again for a replay',
    file: 'engine/deliver/settled-outcome',
    from: 'const opened = await (core.backend ?? core.handlers)?.open(order, result)',
    to: 'const opened = { response: (await core.backend?.call(order, responder.call)).response }',
  },
  {
    name: 'two requests make one paid call',
    file: 'engine/deliver/deliver-route',
    from: 'if (challenge.leaseUntil !== null && challenge.leaseUntil > now)',
    to: 'if (challenge.leaseUntil === 0)',
    storm: 'paid calls of slow and failing backends',
  },
  {
    name: 'a refund counts as done in a block that may go away',
    file: 'engine/refund/run-refunds',
    from: 'const final = use.block.number <= finalized',
    to: 'const final = true',
  },
  {
    name: 'a challenge that was once paid for is forgotten when it expires',
    file: 'engine/settle/claim-payment',
    from: 'claimed: true,',
    to: 'claimed: false,',
  },
  {
    name: 'a retry that names the request as its 402 did finds nothing',
    file: 'engine/challenge/request-names',
    from: '[own, offeredRequestId, ...earlierNames].includes(requestId)',
    to: '[own].includes(requestId)',
  },
  {
    name: 'a handler that took too long delivers what was refunded',
    file: 'engine/deliver/deliver-route',
    from: "if (challenge?.state === 'DELIVERED')",
    to: "if (challenge?.state !== 'PENDING')",
  },
  {
    name: 'an instance that is stopped ends what it watches',
    file: 'engine/settle/resolve',
    from: 'if (stopped || rows.length === 0)',
    to: "if (stopped) await Promise.all(rows.map((row) => commit(core, { puts: [{ table: 'authorizations', row: { ...row, dueAt: null } }] }))); if (stopped || rows.length === 0)",
  },
  {
    name: 'a payment that reverted alone is sent again, and again',
    file: 'rules/judge-attempt',
    from: 'if (!mined.success && walletTx.members.length > 1)',
    to: 'if (!mined.success)',
  },
  {
    name: 'a decided payment stays watched',
    file: 'engine/settle/resolve',
    from: 'watched.get(row.key) !== row',
    to: 'watched.get(row.key) !== undefined',
  },
  {
    name: 'an unpaid challenge is never deleted',
    file: 'engine/jobs/run-jobs',
    from: 'await forget(core, challenge)',
    to: 'await commit(core, { puts: [putChallenge({ ...challenge, dueAt: null })] })',
  },
  {
    name: 'an alert shows the refund wallet with its key',
    file: 'engine/refund/run-refunds',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '(challenge ${row.challengeId}): ${reason}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '(challenge ${row.challengeId}): ${reason} ${JSON.stringify(core.rails.of(row).refundSigner)}`',
  },
  {
    name: "the log keeps the payer's signature",
    file: 'engine/settle/broadcast',
    from: 'return claim && sends === 0 ? [claimedEntry(challengeId, claim, payer, loggedAt)] : []',
    to: 'return claim && sends === 0 ? [claimedEntry(challengeId, claim, arguments[0].auth.signature, loggedAt)] : []',
  },
  {
    name: 'a challenge that ends unpaid leaves no line in the log',
    file: 'engine/challenge/log-unpaid',
    from: 'if (!unpaidLog.take() && !byOperator)',
    to: 'if (!byOperator)',
  },
  {
    name: 'a refund has one submitter',
    file: 'engine/refund/submit-refunds',
    from: 'of refundSubmitters',
    to: 'of refundSubmitters.slice(-1)',
  },
  {
    name: 'a refused refund raises no alert',
    file: 'engine/refund/submit-refunds',
    from: 'if (refusal !== undefined)',
    to: 'if (refusal === null)',
  },
  {
    name: 'the wallet that refunds sends payments too',
    file: 'settlement/submitters',
    from: 'settlement: { ...facilitator, maintain: self.maintain }',
    to: 'settlement: self',
  },
  {
    name: 'a refund that a lost commit had sent is called failed',
    file: 'engine/refund/run-refunds',
    from: "return void (await putRefund(core, { ...row, phase: 'BROADCAST', auth }))",
    to: "return giveUp(core, row, 'its nonce is spent')",
    storm: 'a store that loses its last second',
  },
  {
    name: 'smart wallets may lose any amount of our gas',
    storm: 'payers that waste our gas, and farm refunds, with many payments at once',
    file: 'engine/budgets/gas-budget',
    from: '(alone || core.payers.hasFailed(row.payer))',
    to: 'core.payers.hasFailed(row.payer)',
  },
  {
    name: 'a budget counts what is lost, and not what is in flight',
    storm: 'payers that waste our gas, and farm refunds, with many payments at once',
    file: 'engine/budgets/holds',
    from: 'if (!fits(used))',
    to: 'if (!fits(spent))',
  },
  {
    name: 'calls in flight are not counted as undelivered',
    storm: 'payers that waste our gas, and farm refunds, with many payments at once',
    file: 'engine/budgets/refund-cap',
    from: "if (core.config.payerUndeliveredPerDay === undefined || challenge.kind !== 'route')",
    to: "if (core.config.payerUndeliveredPerDay === undefined || challenge.kind !== 'plan')",
  },
  ...CHAIN_MUTANTS,
  ...CREDIT_MUTANTS,
  ...EVENT_MUTANTS,
  ...METER_MUTANTS,
  ...MPP_MUTANTS,
  ...RECEIPT_MUTANTS,
]
