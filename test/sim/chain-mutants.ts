import type { SourceMutant } from './source-mutant.ts'

/** What one chain could do to another: mistakes of a gateway with several rails. */
export const CHAIN_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'a refund goes back on the preferred rail, whichever the payment came by',
    storm: 'two chains, one gateway',
    file: 'engine/refund/refund-rows',
    from: 'rail: refundsBy ?? id,',
    to: "rail: 'eip155:84532/0x036cbd53842c5426634e7929541ec2318f3dcf7e/exact',",
  },
  {
    name: 'every payment is judged by the preferred chain',
    storm: 'two chains, one gateway',
    file: 'engine/rails',
    from: 'const rail = byId.get(row.rail)',
    to: 'const rail = preferred',
  },
  {
    name: 'a wallet has the same nonces on every chain',
    storm: 'two chains, one gateway',
    file: 'settlement/gas-lane',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '`${chainId}:${wallet}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '`${wallet}`',
  },
  {
    name: 'a challenge may be claimed once per chain',
    storm: 'three chains, of which some are out of order',
    file: 'engine/settle/redeem-payment',
    from: 'if (challenge.liveAuth !== null)',
    to: 'if (challenge.liveAuth !== null && challenge.rail === redemption.rail.id)',
  },
  {
    name: 'all chains have one height',
    storm: 'two chains, one gateway',
    file: 'engine/rails',
    from: 'head: createChainHead({ ...parts, alerts })',
    to: 'head: (parts.shared ??= createChainHead({ ...parts, alerts }))',
  },
  {
    name: 'a payment is known without its chain',
    storm: 'two chains, one gateway',
    file: 'schemes/exact/authorization',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '`${chainId}:${token.address}:${payer}:${nonce}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '`0:0x0:${payer}:${nonce}`',
  },
  {
    name: 'what a payer has lost on one chain counts on every chain',
    storm: 'payers that waste our gas on two chains at once',
    file: 'engine/budgets/gas-budget',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: '`${GAS_BUDGETS}${network.chainId}:${payer}:${dayOf(at)}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: '`${GAS_BUDGETS}${payer}:${dayOf(at)}`',
  },
  {
    name: 'a rail that cannot settle is offered all the same',
    storm: 'three chains, of which some are out of order',
    file: 'engine/rail-standing',
    from: 'return withdrawn === null && Number(amountMicro) >= leastAmount',
    to: 'return Number(amountMicro) >= leastAmount',
  },
  {
    name: 'a rail is offered for prices that do not carry its gas',
    storm: 'three chains, of which some are out of order',
    file: 'engine/rail-standing',
    from: 'return withdrawn === null && Number(amountMicro) >= leastAmount',
    to: 'return withdrawn === null',
  },
  {
    name: 'a rail that was withdrawn is never offered again',
    storm: 'three chains, of which some are out of order',
    file: 'engine/rail-standing',
    from: 'standing.withdrawn = null',
    to: 'return',
  },
  {
    name: 'the outage of one chain withdraws all',
    storm: 'three chains, of which some are out of order',
    file: 'engine/rail-standing',
    from: 'standing.withdrawn = { reason, since: clock.now() }',
    to: 'for (const each of standings.values()) each.withdrawn = { reason, since: clock.now() }',
  },
  {
    name: 'a payment on a rail that cannot settle is claimed and answered 402',
    storm: 'three chains, of which some are out of order',
    file: 'engine/settle/redeem-payment',
    from: 'if (unavailable)',
    to: "if (unavailable && (await claimPayment(core, rail, found, checked, intent), true)) return failed(core, new GatewayError('PAYMENT_FAILED', unavailable), challenge); if (unavailable)",
  },
  {
    name: 'a transfer that is proven on one chain is recorded on another',
    storm: 'three chains, of which some are out of order',
    file: 'engine/settle/redeem-transfer',
    from: 'recordReceipt(core, rail, claimed,',
    to: 'recordReceipt(core, core.rails.of(challenge), claimed,',
  },
  {
    name: 'a paid challenge names the rail that it was opened on',
    storm: 'two chains, one gateway',
    file: 'engine/settle/confirm',
    from: 'return { ...railTermsOf(rail), payTo: to,',
    to: 'return { payTo: to,',
  },
]
