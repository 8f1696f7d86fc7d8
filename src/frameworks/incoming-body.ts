import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { BodySink, BodySource } from '../transports/http/native-request.ts'
import { headerIn } from './raw-headers.ts'

/** Whether all of it has arrived. Of a request without a body node says so only after it was handed out. */
export const isWhole = (incoming: IncomingMessage): boolean => incoming.complete || !declaresBody(incoming)

/** The body of a message; undefined where it has none. `parsedBody`: what a body parser left behind, in case it has read it. */
export function bodyOf(incoming: IncomingMessage, parsedBody: unknown): BodySource | undefined {
  const { method } = incoming
  if (method === 'GET' || method === 'HEAD' || !declaresBody(incoming)) return undefined
  if (!incoming.readableEnded) return (sink) => pushBody(incoming, sink)
  return (sink) => pushParsed(parsedBody, sink)
}

/** A GET or HEAD brings a body, which a Fetch request has no place for. One in chunks may turn out to be empty. */
export function dropsBody(incoming: IncomingMessage): boolean {
  const { method, complete, readableEnded, readableLength } = incoming
  if ((method !== 'GET' && method !== 'HEAD') || !declaresBody(incoming)) return false
  return !complete || readableEnded || readableLength > 0
}

function declaresBody(incoming: IncomingMessage): boolean {
  const { rawHeaders, httpVersionMajor } = incoming
  // HTTP/2 needs neither header: its frames say whether anything follows the headers.
  if (httpVersionMajor >= 2) return !(incoming as unknown as Http2ServerRequest).stream.endAfterHeaders
  if (headerIn(rawHeaders, 'transfer-encoding') !== null) return true
  // Several come as one list, which is no number: whatever is not zero announces a body.
  return Number(headerIn(rawHeaders, 'content-length')) !== 0
}

function pushBody(incoming: IncomingMessage, sink: BodySink): () => void {
  const onClose = () => {
    if (!incoming.complete) sink.fail(new Error('the client went away before its request was complete'))
  }
  if (incoming.destroyed && !incoming.complete) {
    sink.fail(new Error('the client is gone'))
    return () => {}
  }
  incoming.on('data', sink.chunk).on('end', sink.end).on('error', sink.fail).on('close', onClose)
  return () => {
    // Over and done: nothing more comes, and the message goes with its listeners.
    if (incoming.readableEnded) return
    incoming.off('data', sink.chunk).off('end', sink.end).off('error', sink.fail).off('close', onClose)
    // Paused, not destroyed: destroying the message would take the socket, and with it our answer.
    incoming.pause()
  }
}

/** The stream is used up. What was parsed from it is written down again; without that the body is lost. */
function pushParsed(parsedBody: unknown, sink: BodySink): () => void {
  if (parsedBody === undefined) sink.fail(new Error('other code has read the body'))
  else {
    const plain = typeof parsedBody === 'string' || parsedBody instanceof Uint8Array
    sink.chunk(Buffer.from(plain ? parsedBody : JSON.stringify(parsedBody)))
    sink.end()
  }
  return () => {}
}

/** A body as a Fetch stream, which flows at the pace of its reader. */
export function streamOf(incoming: IncomingMessage, source: BodySource): ReadableStream<Uint8Array> {
  let stop: (() => void) | undefined
  let over = false
  return new ReadableStream<Uint8Array>({
    start(controller) {
      stop = source({
        chunk(bytes) {
          controller.enqueue(bytes)
          if ((controller.desiredSize ?? 1) <= 0) incoming.pause()
        },
        end() {
          over = true
          controller.close()
        },
        fail(error) {
          over = true
          controller.error(error)
        },
      })
    },
    pull() {
      if (!over) incoming.resume()
    },
    cancel() {
      over = true
      stop?.()
    },
  })
}
