import { z } from 'zod'
import type { Backstage } from '../../backstage.ts'
import { GatewayError } from '../../errors.ts'
import { readTime } from '../../protocol/read-time.ts'
import { DELIVERED_KEPT_MS } from '../../rules/events.ts'
import { apiReply } from '../api-reply.ts'
import { type LogRange, logBetween } from './log-between.ts'

const TOO_OLD =
  'What was delivered is known for 30 days: with undelivered, from must be later. Without undelivered, all events of the range are sent again.'
const ONE_OF =
  'Say what to resend: key, parked: true, or from (and to) as 2030-01-31 (UTC) or 2030-01-31T00:00:00Z.'

/** Strict: with a misspelt `undelivered`, receivers would get again what they have. */
const Which = z
  .strictObject({
    key: z.string(),
    parked: z.boolean(),
    from: z.string(),
    to: z.string(),
    undelivered: z.boolean(),
    endpoint: z.string(),
  })
  .partial()
type Which = z.infer<typeof Which>
type Events = NonNullable<Backstage['events']>

const bad = (error: string): Response => apiReply(400, { error })

/** What is to be sent again, or what is wrong with it. */
export function readWhich(
  body: Record<string, unknown>,
  { endpoints }: Pick<Events, 'endpoints'>,
): Which | Response {
  const { data: which, error } = Which.safeParse(body)
  if (!which) {
    const [issue] = error.issues
    const place = issue?.path.length ? `${issue.path.join('.')}: ` : ''
    return bad(`${place}${issue?.message}. ${ONE_OF}`)
  }
  const { key, parked, from, to, undelivered, endpoint } = which
  if ([key !== undefined, parked === true, from !== undefined].filter(Boolean).length !== 1)
    return bad(ONE_OF)
  if (from === undefined && (to !== undefined || undelivered === true))
    return bad('to and undelivered go with from; with key or parked they say nothing.')
  if (endpoint === undefined) return which
  if (key !== undefined) return bad('A key names one delivery, and its endpoint: leave endpoint out.')
  if (endpoints.every(({ id }) => id !== endpoint)) {
    const ids = endpoints.map(({ id }) => id).join(', ')
    return bad(`No endpoint ${endpoint.slice(0, 80)} is configured; there is ${ids}.`)
  }
  return which
}

/** All that are parked, or what happened in a time; `undelivered`: only what did not arrive. */
export async function resendMany(
  store: Backstage['store'],
  events: Events,
  { parked, from, to, undelivered = false, endpoint }: Which,
): Promise<Response> {
  if (parked === true) {
    const rows = await store.list('webhooks', 'parked')
    const own = rows.filter((row) => endpoint === undefined || row.endpoint === endpoint)
    const results = await Promise.all(own.map(({ key }) => events.resend(key)))
    return apiReply(200, { resent: results.filter((row) => !(row instanceof GatewayError)).length })
  }
  const range = rangeOf(from, to)
  if (!range) return bad(ONE_OF)
  if (range.to <= range.from) return bad('to is not after from; the range ends before to.')
  if (undelivered && range.from < Date.now() - DELIVERED_KEPT_MS) return bad(TOO_OLD)
  let resent = 0
  for await (const entries of logBetween(store, range)) {
    resent += await events.resendLogged(entries, { endpoint, undelivered })
  }
  return apiReply(200, { resent })
}

function rangeOf(from: string | undefined, to: string | undefined): LogRange | undefined {
  const start = readTime(from ?? '')
  const end = to === undefined ? Number.POSITIVE_INFINITY : readTime(to)
  return start === undefined || end === undefined ? undefined : { from: start, to: end }
}
