/** Sends what a generator yields as server-sent events; `stop` is called when the client leaves. */
export function sseResponse(
  events: AsyncGenerator<unknown, void, undefined>,
  {
    headers,
    stop,
    failed,
  }: { headers: Record<string, string>; stop(): void; failed(error: unknown): unknown },
): Response {
  const encoder = new TextEncoder()
  let gone = false
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const send = (event: unknown) =>
        controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`))
      try {
        const { done, value } = await events.next()
        if (gone) return
        if (!done) return send(value)
      } catch (error) {
        if (gone) return
        send(failed(error))
      }
      controller.close()
      stop()
    },
    cancel() {
      gone = true
      stop()
    },
  })
  return new Response(body, {
    headers: {
      ...headers,
      'content-type': 'text/event-stream',
      // Proxies that gather an answer would hold the updates back until the end.
      'x-accel-buffering': 'no',
    },
  })
}
