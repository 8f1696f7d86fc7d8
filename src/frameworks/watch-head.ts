import type { ServerResponse } from 'node:http'
import { isClosed, watchPipe } from './watch-pipe.ts'

/** Far below the lease of a delivery: a download that takes longer must not be refunded while it runs. */
const LOOK_MS = 250
/** For handlers that never answer a client who left, and for a store that stays away. */
const MAX_IDLE_LOOKS = 2400

/**
 * Its handler destroyed it with an error before there was a head, as `pipeline` does if a stream fails. A client that leaves sets no
 * error; a handler that destroys the response because of it has ended without an answer, and that is no delivery either.
 */
export function wasGivenUp({ errored, headersSent }: ServerResponse): boolean {
  return Boolean(errored) && !headersSent
}

/**
 * Tells the status of a response once its head is decided, and again until that is heard. Node announces the end of a
 * response and its close, but not its head; so we look, rather than wrap the seller's response. Two cases need it: a
 * slow download, where `finish` comes late, and a client that left before the head, where it never comes but the
 * handler still ends the response. `sentStatus`: the status of the head that went out, where that is known; the response's own may
 * have been changed since. Gives a function that ends the looking, for whoever hears otherwise that the end was told.
 */
export function watchHead(
  response: ServerResponse,
  tell: (status: number) => Promise<void>,
  sentStatus: () => number | undefined = () => undefined,
): () => void {
  let idleLooks = 0
  let telling = false
  let piped: number | undefined
  // Remembered: a response of HTTP/2 does not say so later.
  let closed = isClosed(response)

  const look = async () => {
    if (telling) return
    const isGivenUp = wasGivenUp(response)
    const isDecided = response.headersSent || response.writableEnded || piped !== undefined
    if (isDecided || isGivenUp) {
      telling = true
      try {
        await tell(isGivenUp ? 500 : (sentStatus() ?? piped ?? response.statusCode))
        return stop()
      } catch {
        telling = false
      }
    } else if (!closed) return
    if (++idleLooks > MAX_IDLE_LOOKS) stop()
  }
  const close = () => {
    closed = true
    void look()
  }
  const stop = () => {
    clearInterval(timer)
    response.off('finish', look).off('close', close)
  }
  const timer = setInterval(look, LOOK_MS).unref()
  response.on('finish', look).on('close', close)
  watchPipe(response, (status) => {
    if (!response.headersSent) piped = status
    void look()
  })
  return stop
}
