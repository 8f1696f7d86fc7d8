import type { ChallengeRow } from '../../ports.ts'
import type { ChallengeState, ChallengeStatus } from '../../protocol/access.ts'
import { type Core, getOne } from '../core.ts'
import { waitForChange } from '../deliver/settled-outcome.ts'
import type { Dossier } from '../outcome.ts'

const ENDED: ReadonlySet<ChallengeState> = new Set([
  'DELIVERED',
  'EXPIRED',
  'CANCELLED',
  'REFUNDED',
  'REFUND_FAILED',
])

export function statusOf(challenge: ChallengeRow): ChallengeStatus {
  return {
    challengeId: challenge.key,
    requestId: challenge.requestId,
    state: challenge.state,
    expiresAt: new Date(challenge.expiresAt).toISOString(),
    ...(challenge.txHash !== null && { txHash: challenge.txHash }),
    ...(challenge.refundTxHash !== null && { refundTxHash: challenge.refundTxHash }),
    ...(challenge.signedReceipt !== undefined && { receipt: challenge.signedReceipt }),
    ...(challenge.signedRefund !== undefined && { refundReceipt: challenge.signedRefund }),
  }
}

/** Everything that is stored of a challenge, for A2A tasks and for the operator, without results and signatures. */
export async function inspect(
  { store }: Pick<Core, 'store'>,
  challengeId: string,
): Promise<Dossier | undefined> {
  const [row] = await store.get('challenges', [challengeId])
  if (!row) return undefined
  const [attempts, receipts, refunds, audit] = await Promise.all([
    store.list('authorizations', challengeId),
    store.list('receipts', challengeId),
    store.list('refunds', challengeId),
    store.audit(challengeId),
  ])
  const { result: _result, ...challenge } = row
  return {
    challenge,
    attempts: attempts.map(({ key, rail, phase, reason, sends, payer, value, walletTx }) => {
      return { key, rail, phase, reason, sends, payer, value, walletTx }
    }),
    receipts,
    refunds: refunds.map(({ auth: _auth, ...refund }) => refund),
    audit,
  }
}

/** The status now and after each change, until nothing more can change. */
export async function* watch(
  core: Core,
  challengeId: string,
  signal: AbortSignal,
): AsyncGenerator<ChallengeStatus> {
  const subscription = core.signals.subscribe(challengeId)
  const aborted = new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }))
  let last = ''
  try {
    while (!signal.aborted) {
      const challenge = await getOne(core, 'challenges', challengeId)
      if (!challenge) return
      const status = statusOf(challenge)
      // The start and the end of a payment attempt are changes as well.
      const text = JSON.stringify([status, challenge.liveAuth])
      if (text !== last) yield status
      last = text
      if (ENDED.has(challenge.state)) return
      const waited = waitForChange(core, subscription, Number.POSITIVE_INFINITY)
      await Promise.race([waited, aborted])
    }
  } finally {
    subscription.close()
  }
}
