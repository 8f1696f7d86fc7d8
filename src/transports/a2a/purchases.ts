import type { Engine, Intent, Outcome } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import { publicFault } from '../http/safeguards.ts'
import type { Sale } from './challenge-terms.ts'
import { challengeIdOf, renderPurchase } from './render-purchase.ts'
import type { TaskView } from './task-view.ts'

/** Proofs that came to nothing are limited by address and by task; the oldest are dropped. */
const MAX_REMEMBERED = 1000
/** Nobody waits for a purchase in the background, so that clients do not slow down by themselves. */
const MAX_UNWATCHED = 1000

export interface Purchases {
  /**
   * What became of an intent. Never throws: a fault is a task that says to send the same again. `refused`: why it is not
   * even tried.
   */
  run(intent: Intent, refused?: GatewayError): Promise<TaskView>
  /** Whether one more may run that nobody waits for. */
  hasRoom(): boolean
  /** A payment for this task is under way here. */
  settling(taskId: string): boolean
  /** Undefined when none is. */
  settled(taskId: string): Promise<void> | undefined
  /**
   * What the last proof of a transfer for this task came to, if it brought no terms. Nothing of it is stored, and the terms
   * of the stored task would make its sender pay again.
   */
  proven(taskId: string): TaskView | undefined
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

/** Purchases run to their end whether or not anybody still listens: money may be moving. */
export function createPurchases(
  engine: Pick<Engine, 'purchase' | 'inspect'>,
  sale: Sale,
  report: (error: unknown) => void,
): Purchases {
  const running = new Map<Promise<TaskView>, string | undefined>()
  const proven = new Map<string, TaskView>()

  function remember(view: TaskView): void {
    const [oldest] = proven.keys()
    if (proven.size >= MAX_REMEMBERED && oldest !== undefined) proven.delete(oldest)
    proven.set(view.id, view)
  }

  async function settle(intent: Intent, refused: GatewayError | undefined): Promise<TaskView> {
    const { challengeId } = intent
    let outcome: Outcome
    try {
      outcome = refused ? { kind: 'failed', error: refused } : await engine.purchase(intent)
    } catch (error) {
      report(error)
      outcome = { kind: 'failed', error: publicFault(error, challengeId) }
    }
    // Ids that contradict each other name no challenge; the payment's own id is one of them.
    const id = challengeIdOf(outcome, intent) ?? intent.payment?.echo.challengeId
    // The history decorates the answer; that it cannot be read must not cost the buyer the grant.
    const dossier = id === undefined ? undefined : await engine.inspect(id).catch(report)
    try {
      const view = renderPurchase(outcome, intent, dossier ?? undefined, sale)
      if (intent.proof && dossier && !view.required && !view.result) remember(view)
      return view
    } catch (error) {
      report(error)
      const fault = { kind: 'failed' as const, error: publicFault(error, id) }
      return renderPurchase(fault, intent, undefined, sale)
    }
  }

  function of(taskId: string): Array<Promise<TaskView>> {
    return [...running].flatMap(([work, id]) => (id === taskId ? [work] : []))
  }

  return {
    run(intent, refused) {
      const paying = intent.payment !== undefined || intent.proof !== undefined
      if (paying && intent.challengeId !== undefined) proven.delete(intent.challengeId)
      const work = settle(intent, refused)
      running.set(work, paying ? intent.challengeId : undefined)
      return work.finally(() => running.delete(work))
    },
    hasRoom: () => running.size < MAX_UNWATCHED,
    settling: (taskId) => of(taskId).length > 0,
    settled(taskId) {
      const works = of(taskId)
      return works.length === 0 ? undefined : Promise.allSettled(works).then(() => {})
    },
    proven: (taskId) => proven.get(taskId),
    idle: async () => void (await Promise.allSettled(running.keys())),
  }
}
