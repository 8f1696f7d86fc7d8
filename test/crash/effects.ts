import type {
  AttemptPhase,
  CallRow,
  ChallengeRow,
  RefundRow,
  Step,
  TableName,
  Tables,
} from '../../src/ports.ts'

/** What the gateway is about to do to the world, or has just done. */
export type Effect =
  | { kind: 'commit'; step: Step }
  | { kind: 'due'; table: TableName }
  | { kind: 'hook'; event: string }
  | { kind: 'answer'; status: number }
  | { kind: 'rpc'; methods: readonly string[] }
  | { kind: 'facilitator'; path: string }
  | { kind: 'token-api' }
  | { kind: 'backend' }

/** A batch of calls is named by the first of these that is in it. */
const METHODS: Array<[string, string]> = [
  ['eth_sendRawTransaction', 'rpc-send'],
  ['eth_sendRawTransactionSync', 'rpc-send'],
  ['eth_getLogs', 'rpc-logs'],
  ['eth_getTransactionReceipt', 'rpc-receipts'],
  ['eth_call', 'rpc-simulate'],
]

/** The name of an effect, the same in every run: points are addressed by it. */
export function nameEffect(effect: Effect): string {
  switch (effect.kind) {
    case 'commit':
      return nameStep(effect.step)
    case 'due':
      return `due-${effect.table}`
    case 'hook':
      return `hook-${effect.event}`
    case 'answer':
      return `answer-${effect.status}`
    case 'rpc':
      return METHODS.find(([method]) => effect.methods.includes(method))?.[1] ?? 'rpc-read'
    case 'facilitator':
      return `facilitator${effect.path.replaceAll('/', '-')}`
    default:
      return effect.kind
  }
}

/** Named by its rows, which must be true from then on. The most significant row comes first. */
function nameStep({ puts, removes = [] }: Step): string {
  const row = <N extends TableName>(table: N) =>
    puts.find((put) => put.table === table)?.row as Tables[N] | undefined
  const [challenge, attempt, receipt, refund] = [
    row('challenges'),
    row('authorizations'),
    row('receipts'),
    row('refunds'),
  ]
  if (receipt?.version === 0) return nameReceipt(challenge?.state)
  if (refund) return nameRefund(refund)
  if (receipt) return receipt.finalized ? 'receipt-final' : 'receipt-look'
  if (attempt) return ATTEMPTS[attempt.phase]
  if (challenge) return nameChallenge(challenge)
  const [credits, call] = [row('credits'), row('calls')]
  if (credits || call) return nameCredits(call, removes)
  const walletTx = row('walletTxs')
  if (walletTx) return `wallet-tx-${walletTx.phase.toLowerCase()}`
  const [removed] = removes
  return removed?.table === 'outbox' ? 'outbox-told' : `forget-${removed?.table ?? 'nothing'}`
}

/** Every call of the prepaid scenario has an Idempotency-Key, whose row tells what its step is. */
function nameCredits(call: CallRow | undefined, removes: NonNullable<Step['removes']>): string {
  if (call) return call.done ? 'credits-debit' : 'credits-reserve'
  return removes.some(({ table }) => table === 'calls') ? 'credits-give-back' : 'credits-lapse'
}

const ATTEMPTS: Record<AttemptPhase, string> = {
  CHARGED: 'charge',
  CLAIMED: 't1-claim',
  BROADCAST: 't1b-broadcast',
  CONFIRMED: 'attempt-confirmed',
  ABANDONED: 'attempt-abandoned',
  DEAD: 'attempt-dead',
  RELEASED: 'release',
}

function nameReceipt(state: string | undefined): string {
  if (state === 'PAID') return 't2-paid'
  return state === 'DELIVERED' ? 't2-t3-delivered' : 't2-goes-back'
}

function nameRefund({ phase, version, txHash }: RefundRow): string {
  if (version === 0) return 't3-refund-intent'
  if (phase === 'BROADCAST') return txHash === null ? 't4-refund-signed' : 'refund-seen'
  return `refund-${phase.toLowerCase()}`
}

function nameChallenge({ version, state, leaseUntil, failure }: ChallengeRow): string {
  if (version === 0) return 'open'
  if (state === 'DELIVERED') return 't3-delivered'
  if (state !== 'PAID') return `challenge-${state.toLowerCase().replace('_', '-')}`
  if (leaseUntil !== null) return 'delivery-lease'
  return failure === null ? 'lease-void' : 't3-backend-failed'
}

/** How often in one purchase an effect is worth a crash of its own. What polls happens as often as it likes. */
export function worthOf(name: string): number {
  if (name === 'rpc-read' || name.startsWith('due-') || name.startsWith('receipt-look')) return 1
  return name.startsWith('rpc-') && name !== 'rpc-send' ? 2 : 3
}
