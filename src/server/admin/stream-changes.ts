import { PAGE_HEADERS } from '../pages.ts'
import type { SalesBook } from './sales-book.ts'

const LEAST_MS = 500
const PING_MS = 20_000

/**
 * Server-sent events which only say that something changed, at most twice a second; the page then asks for the data.
 * After `lifeMs` it ends, and the page connects again: a server that cannot be told to end its streams closes all the same.
 */
export function streamChanges(book: SalesBook, closing: AbortSignal, lifeMs?: number): Response {
  const encoder = new TextEncoder()
  let end = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let newest: string | undefined
      let waiting: NodeJS.Timeout | undefined
      const send = (text: string) => controller.enqueue(encoder.encode(text))
      const flush = () => {
        waiting = undefined
        if (newest === undefined) return
        send(`event: change\ndata: ${JSON.stringify({ challengeId: newest })}\n\n`)
        newest = undefined
        waiting = setTimeout(flush, LEAST_MS)
      }
      const unwatch = book.watch((ids) => {
        newest = ids.at(-1) ?? newest
        if (!waiting) flush()
      })
      const ping = setInterval(() => send('event: ping\ndata: {}\n\n'), PING_MS)
      const stop = () => {
        end()
        controller.close()
      }
      const life = lifeMs === undefined ? undefined : setTimeout(() => stop(), lifeMs)
      end = () => {
        unwatch()
        clearTimeout(life)
        clearInterval(ping)
        clearTimeout(waiting)
        closing.removeEventListener('abort', stop)
      }
      closing.addEventListener('abort', stop)
      send(lifeMs === undefined ? ': connected\n\n' : `retry: ${LEAST_MS}\n\n`)
      if (closing.aborted) stop()
    },
    cancel: () => end(),
  })
  return new Response(body, {
    headers: { ...PAGE_HEADERS, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
  })
}
