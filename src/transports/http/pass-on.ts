import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type { Forwarded } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { AddressLimits } from './admit.ts'
import { renderForwarded } from './render-forwarded.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'

/** How long an answer waits for a client that reads nothing of it. */
const UNREAD_MS = 60_000

/**
 * Passes on what `forward` answers, as it comes. `client`: whose answer it is; undefined: nobody is counted.
 */
export type PassOn = (
  client: string | undefined,
  forward: () => Promise<Forwarded>,
  spoken: Spoken,
) => Promise<Response | Reply>

/** An answer counts as open until its body has ended, at the latest when its client has stopped reading for long. */
export function createPassOn(
  { openLimit }: Pick<AddressLimits, 'openLimit'>,
  render: OutcomeRenderer,
  unreadMs: number = UNREAD_MS,
): PassOn {
  return async (client, forward, spoken) => {
    const leave = client === undefined || !openLimit ? () => {} : openLimit(client)
    if (!leave) return render.failure(tooManyOpen(), { spoken })
    let body: Response['body'] = null
    try {
      const forwarded = await forward()
      if (!(forwarded instanceof Response)) return renderForwarded(forwarded, render, spoken)
      body = forwarded.body
      const { status, statusText, headers } = forwarded
      const passed = body && untilUnread(body, leave, unreadMs)
      return renderForwarded(new Response(passed, { status, statusText, headers }), render, spoken)
    } finally {
      if (!body) leave()
    }
  }
}

function tooManyOpen(): GatewayError {
  const message = 'too many answers are open for this client at the same time; read them to their end'
  return new GatewayError('RATE_LIMITED', message, { retryAfterSeconds: 5 })
}

/** The same body. If nobody reads on for so long it breaks off, since its source would wait for ever. */
function untilUnread(
  body: NonNullable<Response['body']>,
  onEnd: () => void,
  unreadMs: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let timer: NodeJS.Timeout
  const end = () => {
    clearTimeout(timer)
    onEnd()
  }
  const wait = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    timer = setTimeout(() => {
      const reason = new Error(`the client read nothing for ${unreadMs / 1000} s`)
      end()
      controller.error(reason)
      reader.cancel(reason).catch(() => {})
    }, unreadMs)
    timer.unref()
  }
  return new ReadableStream<Uint8Array>(
    {
      start: wait,
      async pull(controller) {
        clearTimeout(timer)
        try {
          const { done, value } = await reader.read()
          if (!done) {
            controller.enqueue(value)
            return wait(controller)
          }
          end()
          controller.close()
        } catch (error) {
          end()
          throw error
        }
      },
      async cancel(reason) {
        end()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
