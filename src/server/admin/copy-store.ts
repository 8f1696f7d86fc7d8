import type { Backstage } from '../../backstage.ts'
import { ConfigError, UnavailableError } from '../../errors.ts'
import { isDiskFull } from '../../reason-of.ts'
import { apiReply } from '../api-reply.ts'
import { PAGE_HEADERS } from '../pages.ts'

/** While a copy is read the store's log grows, so a reader that has stopped reading does not keep it for ever. */
const IDLE_LIMIT_MS = 60_000
const ROOM =
  'Before a copy, the log beside paystile.db is written into it, which needs about as much room as that log on the same disk: make room there and try again.'

/**
 * For `paystile backup`: the embedded store as it is now, while it sells. Neither keys nor settings are in it: those are
 * files beside it, which the operator's token does not open.
 */
export async function copyStore(
  store: Backstage['store'],
  { idleLimitMs = IDLE_LIMIT_MS, onError }: { idleLimitMs?: number; onError?(error: unknown): void } = {},
): Promise<Response> {
  if (!store.snapshot) {
    return apiReply(409, { error: `The records are in ${store.name}, which has backups of its own.` })
  }
  const pieces = store.snapshot()
  let idle: NodeJS.Timeout | undefined
  // The first piece is read at once, so that a copy that cannot begin is an error and not an empty file.
  let next: IteratorResult<Uint8Array> | undefined
  try {
    next = await pieces.next()
  } catch (error) {
    if (error instanceof ConfigError) return apiReply(409, { error: error.message })
    if (!(error instanceof UnavailableError)) throw error
    onError?.(error)
    const isFull = isDiskFull(error.cause)
    return apiReply(503, { error: isFull ? `${error.message}. ${ROOM}` : error.message })
  }
  const wait = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    idle = setTimeout(() => {
      controller.error(new Error('the copy of the store was not read for a minute'))
      void pieces.return(undefined)
    }, idleLimitMs)
    idle.unref()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start: wait,
      async pull(controller) {
        clearTimeout(idle)
        const { done, value } = next ?? (await pieces.next())
        next = undefined
        if (done) return controller.close()
        controller.enqueue(value)
        wait(controller)
      },
      async cancel() {
        clearTimeout(idle)
        await pieces.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { ...PAGE_HEADERS, 'content-type': 'application/vnd.sqlite3' } })
}
