/**
 * Money bugs inside the engine and its rules: one fragment of the source replaced by another, in a copy of the
 * simulator's build. Fragments stand on one line and read the same in TypeScript and in what is compiled from it.
 */
export interface SourceMutant {
  name: string
  /** Below src, without its ending. */
  file: string
  from: string
  to: string
  /** Too rare elsewhere: it is hunted in this one alone. */
  storm?: string
}

export const SOURCE_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'a result goes to whoever shows the public signature',
    file: 'rules/ownership',
    from: 'if (claimed === null || shown === null || !timingSafeEqual(Buffer.from(claimed), Buffer.from(shown)))',
    to: 'if (shown === undefined)',
  },
  {
    name: 'a challenge expires although a payment is in flight',
    file: 'engine/redeem-payment',
    from: "state === 'PENDING' && liveAuth === null && core.clock.now()",
    to: "state === 'PENDING' && core.clock.now()",
  },
  {
    name: 'a payment is known by its payer alone',
    file: 'rules/authorization-key',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '`${chainId}:${asset}:${payer}:${nonce}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '`${chainId}:${asset}:${payer}`',
  },
  {
    name: 'a plain transfer is known by its log index, which a reorganisation changes',
    file: 'engine/redeem-transfer',
    from: 'own.map(({ ordinal }) =>',
    to: 'own.map(({ logIndex: ordinal }) =>',
  },
  {
    name: "anybody may show a stranger's transfer",
    file: 'engine/redeem-transfer',
    from: 'senders.find((_, index) => signed[index])',
    to: 'senders[0]',
  },
  {
    name: 'an abandoned payment is no longer watched',
    file: 'engine/resolve',
    from: "verdict.kind === 'failed' && finalized !== undefined && isDead(row, use, finalized)",
    to: 'true',
  },
  {
    name: 'a payment is dead before its time is over',
    file: 'rules/judge-attempt',
    from: 'return BigInt(finalized.timestamp) >= BigInt(row.auth.validBefore)',
    to: 'return true',
  },
  {
    name: 'a refund goes out before its payment is final',
    file: 'engine/refund',
    from: 'receipts[index]?.finalized',
    to: 'receipts[index] !== undefined',
  },
  {
    name: 'what was paid twice is kept',
    file: 'engine/confirm',
    from: '[...puts, refundOf(receipt, false, at)]',
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
    file: 'engine/confirm',
    from: 'refundOf(receipt, true, at)]',
    to: ']',
  },
  {
    name: "an attempt that came to nothing is answered with another payer's result",
    file: 'engine/settled-outcome',
    from: 'if (challenge.payer !== null && challenge.payer !== payer)',
    to: 'if (challenge.payer === undefined)',
  },
  {
    name: 'the buyer is told "expired" before that is stored',
    storm: 'clocks that disagree on what has expired',
    file: 'engine/redeem-payment',
    from: 'if (unsaid && !(await expireChallenge(core, challenge)))',
    to: 'if (unsaid === undefined)',
  },
  {
    name: 'a guess of what is stored is enough to tell the buyer "expired"',
    storm: 'clocks that disagree on what has expired',
    file: 'engine/redeem-payment',
    from: 'if (found.guessed && (closed || disagreement))',
    to: 'if (found === undefined)',
  },
  {
    name: 'a search that ended below the final block decides',
    file: 'engine/final-uses',
    from: 'if (at.number < finalized.number)',
    to: 'if (at.number < 0)',
  },
  {
    name: 'every block that a node names is believed',
    storm: 'nodes that name blocks which do not exist',
    file: 'engine/chain-head',
    from: 'if (doubt !== undefined) {',
    to: 'if (doubt === null) {',
  },
  {
    name: 'a receipt does not follow its transfer through a reorganisation',
    file: 'engine/follow-receipts',
    from: 'if (moved)',
    to: 'if (moved === undefined)',
  },
  {
    name: 'a payment that the chain dropped for good is never noticed',
    file: 'engine/follow-receipts',
    from: 'if (isDead(attempt, use, finalized))',
    to: 'if (isDead === undefined)',
  },
  {
    name: 'what a crash left in flight is never looked at again',
    file: 'engine/jobs',
    from: 'if (broadcast.length > 0)',
    to: 'if (broadcast.length < 0)',
  },
  {
    name: 'any amount will do',
    file: 'rules/check-payment',
    from: 'if (authorization.value !== terms.amount)',
    to: 'if (authorization.value === undefined)',
  },
  {
    name: 'an id that we never issued is believed',
    file: 'engine/find-challenge',
    from: 'if (!provesTerms(config.idKeys, parsed, terms))',
    to: 'if (amount !== (echoed ?? amount))',
  },
  {
    name: 'a delivered call is made again for a replay',
    file: 'engine/settled-outcome',
    from: 'const opened = await core.backend?.open(order, result)',
    to: 'const opened = { response: (await core.backend?.call(order, handover.call)).response }',
  },
  {
    name: 'two requests make one paid call',
    file: 'engine/deliver-route',
    from: 'if (challenge.leaseUntil !== null && challenge.leaseUntil > now)',
    to: 'if (challenge.leaseUntil === 0)',
  },
  {
    name: 'a refund counts as done in a block that may go away',
    file: 'engine/refund',
    from: 'const final = use.block.number <= finalized',
    to: 'const final = true',
  },
  {
    name: 'a challenge that was once paid for is forgotten when it expires',
    file: 'engine/redeem-payment',
    from: 'claimed: true,',
    to: 'claimed: false,',
  },
  {
    name: 'a retry that names the request as its 402 did finds nothing',
    file: 'engine/find-challenge',
    from: '[own, askedAs, ...earlierNames].includes(requestId)',
    to: '[own].includes(requestId)',
  },
  {
    name: 'a handler that took too long delivers what was refunded',
    file: 'engine/deliver-route',
    from: "if (challenge?.state === 'DELIVERED')",
    to: "if (challenge?.state !== 'PENDING')",
  },
  {
    name: 'whoever is stopped takes what it watches with it',
    file: 'engine/resolve',
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
    name: 'a watched payment is never let go',
    file: 'engine/resolve',
    from: 'hot.get(row.key) !== row',
    to: 'hot.get(row.key) !== undefined',
  },
  {
    name: 'an unpaid challenge is kept for ever',
    file: 'engine/jobs',
    from: 'await forget(core, challenge)',
    to: 'await commit(core, { puts: [putChallenge({ ...challenge, dueAt: null })] })',
  },
  {
    name: 'an alert shows the refund wallet with its key',
    file: 'engine/refund',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '(challenge ${row.challengeId}): ${reason}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '(challenge ${row.challengeId}): ${reason} ${JSON.stringify(core.refundSigner)}`',
  },
  {
    name: "the log keeps the payer's signature",
    file: 'engine/broadcast',
    from: '[claimedEntry(challengeId, claim, auth.from)]',
    to: '[claimedEntry(challengeId, claim, auth.signature)]',
  },
  {
    name: 'a challenge that ends unpaid leaves no line in the log',
    file: 'engine/log-unpaid',
    from: 'if (!unpaidLog.take() && !byOperator)',
    to: 'if (!byOperator)',
  },
  {
    name: 'a refund has one submitter',
    file: 'engine/submit-refunds',
    from: 'of refundSubmitters ?? [settlement]',
    to: 'of [settlement]',
  },
  {
    name: 'a refund that was refused is told to nobody',
    file: 'engine/submit-refunds',
    from: 'if (refusal !== undefined)',
    to: 'if (refusal === null)',
  },
  {
    name: 'the wallet that refunds sends payments too',
    file: 'settlement/submitters',
    from: 'settlement: { ...facilitator, tend: self.tend }',
    to: 'settlement: self',
  },
  {
    name: 'a refund that a lost commit had sent is called failed',
    file: 'engine/refund',
    from: "return void (await putRefund(core, { ...row, phase: 'BROADCAST', auth }))",
    to: "return giveUp(core, row, 'its nonce is spent')",
  },
  {
    name: 'smart wallets may lose any amount of our gas',
    storm: 'payers that waste our gas, and farm refunds, with many payments at once',
    file: 'engine/gas-budget',
    from: '(alone || core.payers.hasFailed(row.auth.from))',
    to: 'core.payers.hasFailed(row.auth.from)',
  },
  {
    name: 'a budget counts what is lost, and not what is in flight',
    storm: 'payers that waste our gas, and farm refunds, with many payments at once',
    file: 'engine/holds',
    from: 'if (used + amount > limit)',
    to: 'if (spent + amount > limit)',
  },
  {
    name: 'calls in flight are not counted as undelivered',
    storm: 'payers that waste our gas, and farm refunds, with many payments at once',
    file: 'engine/refund-cap',
    from: "if (core.config.payerUndeliveredPerDay === undefined || challenge.kind !== 'route')",
    to: "if (core.config.payerUndeliveredPerDay === undefined || challenge.kind !== 'plan')",
  },
]
