/** No event says that another answer has gone out. */
const LOOK_MS = 250

/**
 * Waits for the first piece of a body, and gives a body that still has it. Rejects if the body fails before, or cannot be sent. If the
 * client leaves first, or the body is not wanted any more, its source is told at once, for not every server tells it of a client that
 * left before the head; what is given is empty.
 */
export async function beginBody(
  body: ReadableStream<Uint8Array>,
  left: AbortSignal,
  isWanted: () => boolean,
): Promise<ReadableStream<Uint8Array>> {
  const reader = body.getReader()
  const over = new AbortController()
  const leaving = new Promise<undefined>((resolve) => {
    const leave = () => resolve(undefined)
    if (left.aborted) return leave()
    left.addEventListener('abort', leave, { once: true, signal: over.signal })
    const timer = setInterval(() => isWanted() || leave(), LOOK_MS).unref()
    over.signal.addEventListener('abort', () => clearInterval(timer))
  })
  const reading = reader.read()
  const first = await Promise.race([reading, leaving]).finally(() => over.abort())
  if (!first) {
    reader.cancel().catch(() => {})
    return new ReadableStream({ start: (controller) => controller.close() })
  }
  // A stream of anything at all may be given as a body, and the server would break the connection off.
  if (!first.done && !canBeSent(first.value)) {
    reader.cancel().catch(() => {})
    throw new TypeError('payPerRequest: a piece of this answer is neither bytes nor text')
  }
  return new ReadableStream({
    // It is there at once, so that a server which looks ahead sees a short answer whole, and can tell its length.
    start(controller) {
      if (first.done) controller.close()
      else controller.enqueue(first.value)
    },
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

function canBeSent(piece: unknown): boolean {
  return typeof piece === 'string' || piece instanceof Uint8Array
}
