import type { AnswerStream } from '../../engine/outcome.ts'
import { withResolvers } from '../../engine/signals.ts'
import type { RawAnswer } from '../../protocol/access.ts'
import { PAID_HEADERS } from './headers.ts'
import { rawReply } from './render-raw.ts'
import type { Reply } from './reply.ts'

/** The answer to a metered call, which may go out while the engine is still at work. */
export interface LiveAnswer {
  stream: AnswerStream
  /** A response that streams, if the answer begins to come before the engine has ended; otherwise the engine's reply. */
  firstOf(ended: Promise<Reply>): Promise<Reply | Response>
}

/** `headers`: of every answer beside the backend's own. */
export function createLiveAnswer(headers: Readonly<Record<string, string>>): LiveAnswer {
  const begun = withResolvers<Response>()
  const waiting: Uint8Array[] = []
  let more = withResolvers<undefined>()
  let hasBegun = false
  let isWhole = false
  let ended: Promise<Reply>

  async function* body(): AsyncGenerator<Uint8Array> {
    let last = 0
    for (;;) {
      for (let chunk = waiting.shift(); chunk; chunk = waiting.shift()) {
        last = chunk.at(-1) ?? last
        yield chunk
      }
      const reply = await Promise.race([more.promise, ended])
      more = withResolvers()
      if (!reply || waiting.length > 0) continue
      // The connection is cut, so that nobody takes a part for the whole.
      if (!isWhole) throw new Error('the answer broke off')
      yield Buffer.from(`${last === NEWLINE ? '' : '\n'}${lastLine(reply)}`)
      return
    }
  }

  return {
    stream: {
      get hasBegun() {
        return hasBegun
      },
      begin(challengeId, head) {
        hasBegun = true
        begun.resolve(new Response(streamOf(body()), headOf(challengeId, head, headers)))
      },
      write(chunk) {
        waiting.push(chunk)
        more.resolve(undefined)
      },
      end() {
        isWhole = true
      },
    },
    async firstOf(reply) {
      ended = reply
      const first = await Promise.race([begun.promise, reply])
      return hasBegun ? begun.promise : first
    },
  }
}

const NEWLINE = 10

/** What headers would say, as a comment: readers of event streams skip lines that begin with a colon. */
function lastLine({ headers }: Reply): string {
  const facts = ['payment-response', 'x-svc-code'].flatMap((name) =>
    headers[name] === undefined ? [] : `: ${name} ${headers[name]}\n`,
  )
  return facts.join('')
}

function headOf(
  challengeId: string,
  head: Pick<RawAnswer, 'status' | 'headers'>,
  given: Readonly<Record<string, string>>,
) {
  const { status, headers } = rawReply(
    { ...head, body: Buffer.alloc(0) },
    {
      ...given,
      'cache-control': PAID_HEADERS['cache-control'],
      'x-svc-challenge-id': challengeId,
      // Proxies in front would otherwise collect it.
      'x-accel-buffering': 'no',
    },
  )
  return { status, headers }
}

/** The engine goes on if the reader leaves: the call is made, and its answer is stored and charged. */
function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await chunks.return(undefined)
    },
  })
}
