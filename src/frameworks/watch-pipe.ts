import type { ServerResponse } from 'node:http'
import type { Http2Stream } from 'node:http2'
import type { Readable } from 'node:stream'

/** Whether its client has left, or the answer is through. */
export function isClosed(response: ServerResponse): boolean {
  // Only of HTTP/2 does a response have a stream, and does not say itself that it is closed.
  const { stream } = response as unknown as { stream?: Http2Stream }
  return response.closed || stream?.destroyed === true
}

/**
 * Tells how a handler has answered that pipes a stream to a client who has left: node writes nothing any more and lets the stream
 * stand, so that the response never ends. That the stream gave something, or was closed without an error, is an answer with the status
 * that is set. Callers are also told when a piped answer went out whole, and leave that alone.
 */
export function watchPipe(response: ServerResponse, tell: (status: number) => void): void {
  response.on('pipe', (source: Readable) => {
    const look = () => {
      if (isClosed(response)) tell(hasFailed(source) ? 500 : response.statusCode)
    }
    if (isClosed(response)) source.once('data', look).once('close', look)
    else response.once('close', look)
  })
}

/** `pipeline` ends its source with an error of this code when the client leaves. */
function hasFailed({ errored }: Readable): boolean {
  return Boolean(errored) && (errored as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE'
}
