import type { StreamResponse } from '@a2a-js/sdk'
import type { Engine, Intent } from '../../engine/outcome.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { submitted } from './project-task.ts'
import type { Purchases } from './purchases.ts'
import { type TaskView, toArtifactUpdate, toStatusUpdate, toTask } from './task-view.ts'

type Events = AsyncGenerator<StreamResponse, void, undefined>

/** The updates of one paying message: submitted, verified, and what came of it. */
export async function* streamPurchase({
  engine,
  purchases,
  intent,
  contextId,
  open,
  report,
}: {
  engine: Pick<Engine, 'watch' | 'inspect'>
  purchases: Purchases
  intent: Intent
  contextId: string | undefined
  open: ChallengeStatus
  report(error: unknown): void
}): Events {
  const stop = new AbortController()
  // Before the first event: a client that leaves at once has paid all the same.
  const settled = purchases.run(intent).finally(() => stop.abort())
  yield { payload: { $case: 'task', value: toTask(submitted(open), contextId) } }
  const paid = await isPaid(engine, intent, open.challengeId, stop.signal).catch(report)
  if (paid) yield toStatusUpdate(verified(open), contextId)
  const view = await settled
  // A credential of our own is delivered in the step that confirms the payment: nobody has seen it paid and undelivered.
  if (!paid && view.state === 'completed') yield toStatusUpdate(verified(open), contextId)
  const artifact = toArtifactUpdate(view, contextId)
  if (artifact) yield artifact
  yield toStatusUpdate(view, contextId)
}

/** Waits for PAID by this very payer: who is paid by somebody else has not verified anything. */
async function isPaid(
  engine: Pick<Engine, 'watch' | 'inspect'>,
  { payment }: Intent,
  challengeId: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!payment) return false
  for await (const { state } of engine.watch(challengeId, signal)) {
    if (state === 'PENDING') continue
    if (state !== 'PAID') return false
    const dossier = await engine.inspect(challengeId)
    return dossier?.challenge.payer === payment.payer
  }
  return false
}

function verified({ challengeId, requestId }: ChallengeStatus): TaskView {
  const text = 'The payment is confirmed on chain; what was bought is on its way.'
  return { id: challengeId, requestId, state: 'working', payment: 'payment-verified', text }
}

/** The task now, and each change until it waits for somebody or is over. */
export async function* streamTask({
  engine,
  purchases,
  look,
  taskId,
  signal,
}: {
  engine: Pick<Engine, 'watch'>
  purchases: Purchases
  look(taskId: string): Promise<TaskView>
  taskId: string
  signal: AbortSignal
}): Events {
  let view = await look(taskId)
  yield { payload: { $case: 'task', value: toTask(view, undefined) } }
  while (isMoving(view) && !signal.aborted) {
    const round = new AbortController()
    const over = () => round.abort()
    signal.addEventListener('abort', over)
    // A payment that is refused before it is claimed changes nothing that is stored.
    void purchases.settled(taskId)?.then(over)
    for await (const _ of engine.watch(taskId, round.signal)) {
      const next = await look(taskId)
      if (isNews(view, next)) yield toStatusUpdate(next, undefined)
      view = next
      if (!isMoving(view)) return
    }
    signal.removeEventListener('abort', over)
    const next = await look(taskId)
    if (isNews(view, next)) yield toStatusUpdate(next, undefined)
    view = next
  }
}

/** After a failed call the task is working, and yet it waits for its buyer. */
function isMoving({ state, error }: TaskView): boolean {
  return state === 'working' && error === undefined
}

function isNews(before: TaskView, after: TaskView): boolean {
  return before.state !== after.state || before.payment !== after.payment || before.error !== after.error
}
