import type { Context, Next } from 'hono'
import { isCaching } from '../protocol/caching-headers.ts'
import type { CapturedAnswer, MeteredCharge } from '../transports/http/charged.ts'
import { NO_ANSWER } from './give-up.ts'
import { isNothing, isTaken, replaceAnswer, replaceByFailure } from './hono-answer.ts'
import { isOut } from './hono-out.ts'

/** Runs the handlers behind a metered call, and puts what goes out in the place of their answer. */
export async function answerMetered(c: Context, next: Next, metered: MeteredCharge): Promise<void> {
  // Middleware in front has set these for whatever goes out, and they are no part of the answer.
  const standing = new Headers(c.res.headers)
  const run = async (): Promise<Response> => {
    let answer: CapturedAnswer
    try {
      await next()
      const isLost = isOut(c) || isNothing(c) || isTaken(c.res)
      answer = isLost ? NO_ANSWER : await captured(c.res, standing, metered)
    } catch (error) {
      // Errors are answered by the app before they get here; this is none, or a body that broke off.
      void metered.finish(NO_ANSWER)
      replaceByFailure(c, {})
      throw error
    }
    return metered.finish(answer)
  }
  // Without an answer in time the response comes first, and the handler's own is not used any more.
  const response = await Promise.race([run(), metered.response])
  for (const [name, value] of standing) {
    if (name === 'set-cookie') response.headers.append(name, value)
    else if (!response.headers.has(name) && !isCaching(name)) response.headers.set(name, value)
  }
  replaceAnswer(c, response)
}

async function captured(
  answer: Response,
  standing: Headers,
  { maxBytes, letOut }: Pick<MeteredCharge, 'maxBytes' | 'letOut'>,
): Promise<CapturedAnswer> {
  const headers = Object.fromEntries(
    [...answer.headers].filter(([name, value]) => standing.get(name) !== value),
  )
  const { status } = answer
  const sent = letOut?.({ status, headers })
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop early ends the stream; an answer that is too long is refused for its size.
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk)
    size += chunk.length
    if (size > maxBytes) break
    sent?.(chunk)
  }
  return { status, headers, body: Buffer.concat(chunks) }
}
