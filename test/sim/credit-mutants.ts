import type { SourceMutant } from './source-mutant.ts'

const storm = 'credits that are spent at once, by several instances, and stolen'

/** Mistakes with what was paid for in advance. */
export const CREDIT_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'credits: an offer of before grants what the plan grants now',
    storm,
    file: 'engine/settle/claim-payment',
    from: 'return { credits: offered }',
    to: 'void offered',
  },
  {
    name: 'credits: a call is debited twice',
    storm,
    file: 'engine/credits/credit-rows',
    from: 'spent: row.spent + part.credits',
    to: 'spent: row.spent + 2 * part.credits',
  },
  {
    name: 'credits: a failed call is given back twice',
    storm,
    file: 'engine/credits/credit-rows',
    from: 'return changeReserved(rows, id, (row) => row)',
    to: 'return changeReserved(rows, id, (row, held) => ({ ...row, spent: row.spent - held.credits }))',
  },
  {
    name: 'credits: what has expired is spent',
    storm,
    file: 'engine/credits/credit-rows',
    from: 'Boolean(ended) || now >= expiresAt',
    to: 'Boolean(ended) || now < 0',
  },
  {
    name: 'credits: what was refunded or lost is spent',
    storm,
    file: 'engine/credits/credit-rows',
    from: 'Boolean(ended) || now >= expiresAt',
    to: 'ended === null || now >= expiresAt',
  },
  {
    name: 'credits: what one instance remembers decides, whatever others have spent',
    storm,
    file: 'engine/credits/accounts',
    from: 'if (step && !(await commit(core, step))) {',
    to: 'if (step && !(await commit(core, step)) && step === null) {',
  },
  {
    name: 'credits: an Idempotency-Key is known without its account',
    storm,
    file: 'engine/credits/spend-credits',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '`${account}/${resourceId}/${key}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '`${resourceId}/${key}`',
  },
  {
    name: 'credits: a call that was taken over is answered too',
    storm,
    file: 'engine/credits/spend-credits',
    from: 'return callKey !== undefined && call?.reservation !== id',
    to: 'return callKey === id && call?.reservation !== id',
    also: {
      from: 'if (call && isUnderWay(view, call, wanted.account))',
      to: 'if (call === null)',
    },
  },
  {
    name: 'credits: the answer goes out before its debit is stored',
    storm,
    file: 'engine/credits/prepaid-call',
    from: 'const spent = await spending.commit(',
    to: 'const spent = { remaining: 0 }; void spending.commit(',
  },
  {
    name: 'credits: a call whose credits were given back is answered',
    storm,
    file: 'engine/credits/credit-rows',
    from: 'if (parts.some(({ lapsed }) => lapsed) || (parts.length > 0 && missing !== 0))',
    to: 'if (missing < 0)',
  },
  {
    name: 'credits: whatever is reserved no more counts as debited',
    storm,
    file: 'engine/credits/spend-credits',
    from: "const gone = spent === 'lapsed' || (spent.length === 0 && !wasDebited) || isTakenOver(view, reservation)",
    to: "const gone = spent === 'never'; if (spent === 'lapsed') return { remaining: 0 }",
  },
  {
    name: 'credits: the token of a purchase spends from any account',
    storm,
    file: 'engine/credits/spend-credits',
    from: 'const account = accountOf(spender.account, spender.planId, spender.resourceId)',
    to: "const [bought] = spender.purchase ? await core.store.get('credits', [spender.purchase]) : []; const account = bought?.ref ?? accountOf(spender.account, spender.planId, spender.resourceId)",
  },
  {
    name: 'a sign-in is good as often as it is shown',
    storm,
    file: 'engine/ownership/prove-wallet',
    from: "if (!(await commit(core, { puts: [{ table: 'marks', row: mark }] }))) {",
    to: 'if (mark === null) {',
  },
  {
    name: 'a sign-in is good once on each instance, until its mark is swept',
    storm,
    file: 'engine/ownership/prove-wallet',
    from: 'dueAt: endsAt + MARGIN_MS,',
    to: 'dueAt: core.clock.now(),',
  },
  {
    name: 'whoever names a wallet is signed in as it',
    storm,
    file: 'engine/ownership/prove-wallet',
    from: 'if (!signed)',
    to: 'if (signed === null)',
  },
]
