import type { Engine, Intent, Outcome } from '../../engine/outcome.ts'
import { publicFault } from '../http/safeguards.ts'
import type { Sale } from './challenge-terms.ts'
import { challengeIdOf, renderPurchase } from './render-purchase.ts'
import type { TaskView } from './task-view.ts'

/** Nobody waits for a purchase in the background, so that clients do not slow down by themselves. */
const MAX_UNWATCHED = 1000

export interface Purchases {
  /** What became of an intent. Never throws: a fault is a task that says to send the same again. */
  run(intent: Intent): Promise<TaskView>
  /** Whether one more may run that nobody waits for. */
  hasRoom(): boolean
  /** A payment for this task is under way here. */
  settling(taskId: string): boolean
  /** Undefined when none is. */
  settled(taskId: string): Promise<void> | undefined
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

  async function settle(intent: Intent): Promise<TaskView> {
    const { challengeId } = intent
    let outcome: Outcome
    try {
      outcome = await engine.purchase(intent)
    } catch (error) {
      report(error)
      outcome = { kind: 'failed', error: publicFault(error, challengeId) }
    }
    // Ids that contradict each other name no challenge; the payment's own id is one of them.
    const id = challengeIdOf(outcome, intent) ?? intent.payment?.echo.challengeId
    // The history decorates the answer; that it cannot be read must not cost the buyer the grant.
    const dossier = id === undefined ? undefined : await engine.inspect(id).catch(report)
    return renderPurchase(outcome, intent, dossier ?? undefined, sale)
  }

  function of(taskId: string): Array<Promise<TaskView>> {
    return [...running].flatMap(([work, id]) => (id === taskId ? [work] : []))
  }

  return {
    run(intent) {
      const paying = intent.payment !== undefined || intent.proof !== undefined
      const work = settle(intent)
      running.set(work, paying ? intent.challengeId : undefined)
      return work.finally(() => running.delete(work))
    },
    hasRoom: () => running.size < MAX_UNWATCHED,
    settling: (taskId) => of(taskId).length > 0,
    settled(taskId) {
      const works = of(taskId)
      return works.length === 0 ? undefined : Promise.allSettled(works).then(() => {})
    },
    idle: async () => void (await Promise.allSettled(running.keys())),
  }
}
