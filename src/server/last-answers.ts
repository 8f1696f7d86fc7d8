import type { FetchHandler } from '../frameworks/node-bridge.ts'
import { pendingAnswer } from './pending-answer.ts'

const STOPPING =
  'The server is stopping; what became of this request is not known yet. If it carried a payment, send the same payload again; do not sign a new one. If it is paid with credits, send it again with the same Idempotency-Key, which is debited once; without a key it would be another call.'
const RETRY_AFTER_SECONDS = 5

export interface LastAnswers {
  handler: FetchHandler
  /**
   * Answers every request that its handler has not answered yet, and those that still come. Returns the work that goes on; what
   * it answers is dropped.
   */
  answerOpen(): Array<Promise<void>>
}

/** A handler whose open requests can be answered for it, before a server that stops cuts their connections. */
export function createLastAnswers(
  handler: FetchHandler,
  onError: (error: unknown) => void = () => {},
): LastAnswers {
  interface Open {
    request: Request
    asked: Promise<Response>
    answer(response: Response): void
  }
  const waiting = new Set<Open>()
  let isOver = false

  return {
    handler(request, peer) {
      if (isOver) return stopping(request)
      const asked = handler(request, peer)
      if (!(asked instanceof Promise)) return asked
      return new Promise((resolve, reject) => {
        const open: Open = { request, asked, answer: resolve }
        waiting.add(open)
        const done = () => waiting.delete(open)
        asked.then(
          (response) => {
            done()
            resolve(response)
          },
          (error) => {
            done()
            reject(error)
          },
        )
      })
    },
    answerOpen() {
      isOver = true
      const open = [...waiting]
      waiting.clear()
      for (const { request, answer } of open) answer(stopping(request))
      return open.map(({ asked }) => asked.then(({ body }) => body?.cancel()).catch(onError))
    },
  }
}

const stopping = (request: Request): Response =>
  pendingAnswer(request, STOPPING, { retryAfterSeconds: RETRY_AFTER_SECONDS })
