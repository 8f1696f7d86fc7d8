import type { Context } from 'hono'
import { isCaching, OF_ONE_BUYER } from '../protocol/caching-headers.ts'
import { isTaken } from './hono-answer.ts'

/** Sets headers of a paid answer, and removes what else its handler said to caches. */
export function putHeaders(c: Context, headers: Record<string, string>): void {
  for (const name of [...c.res.headers.keys()]) if (isCaching(name)) c.header(name, undefined)
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
}

/** Makes it an answer of one buyer. One that cannot be changed goes out as it is: a switch of protocols, or what is no response. */
export function keepFromCaches(c: Context): void {
  if (!c.finalized) return
  const { status, headers } = c.res as Partial<Response>
  if (status === undefined || status < 200 || typeof headers?.keys !== 'function' || isTaken(c.res)) return
  putHeaders(c, { 'cache-control': OF_ONE_BUYER })
}
