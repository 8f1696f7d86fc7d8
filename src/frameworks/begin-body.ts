/**
 * Waits for the first piece of a body, and gives a body that still has it. Rejects if the body fails before. If the client leaves first,
 * its source is told at once, for not every server tells it of a client that left before the head; what is given is empty.
 */
export async function beginBody(
  body: ReadableStream<Uint8Array>,
  left: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const reader = body.getReader()
  const over = new AbortController()
  const leaving = new Promise<undefined>((resolve) => {
    const leave = () => resolve(undefined)
    if (left.aborted) leave()
    else left.addEventListener('abort', leave, { once: true, signal: over.signal })
  })
  const reading = reader.read()
  const first = await Promise.race([reading, leaving]).finally(() => over.abort())
  if (!first) {
    reader.cancel().catch(() => {})
    return new ReadableStream({ start: (controller) => controller.close() })
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
