import type { Backstage } from '../../backstage.ts'
import { GatewayError } from '../../errors.ts'
import type { WebhookRow } from '../../ports.ts'
import { eventsOf } from '../../rules/events.ts'
import { lastSeq } from '../../rules/last-seq.ts'
import { apiReply, readJsonObject } from '../api-reply.ts'
import { readWhich, resendMany } from './resend-webhooks.ts'
import { headOf } from './stored-book.ts'

const MAX_LIMIT = 500
const PAGE = 500
/** One request reads so many pages of the log at most; the next one goes on from there. */
const MAX_PAGES = 20
export const PHASES = ['waiting', 'parked'] as const
const BODY_LIMITS = { maxBodyBytes: 4096, requestTimeoutMs: 10_000 }
const NONE = 'No webhooks are configured: set WEBHOOK_URL, or the option webhooks.'

const bad = (error: string): Response => apiReply(400, { error })
const iso = (ms: number): string => new Date(ms).toISOString()

/** As the admin API shows the delivery of an event to one endpoint. */
export function showDelivery(row: WebhookRow) {
  const { key, endpoint, eventId, type, challengeId, requestId, facts, phase, attempts, dueAt, answers } = row
  return {
    key,
    endpoint,
    eventId,
    type,
    ...(challengeId !== '' && { challengeId, requestId }),
    at: iso(facts.at),
    phase,
    attempts,
    nextTryAt: phase === 'WAITING' && dueAt !== null ? iso(dueAt) : null,
    answers: answers.map(({ at, status, text }) => ({ at: iso(at), status, text })),
  }
}

export type ShownDelivery = ReturnType<typeof showDelivery>

/** `GET /webhooks…`; undefined: not its path. */
export async function webhookPage(
  { store, events }: Backstage,
  path: string,
  query: URLSearchParams,
): Promise<Response | undefined> {
  if (path === '/webhooks') {
    const endpoints = (events?.endpoints ?? []).map(({ id, url, events: wanted }) => ({
      id,
      // The path or query may hold a key.
      host: new URL(url).host,
      events: wanted,
    }))
    const parked = (await store.list('webhooks', 'parked')).length
    return apiReply(200, { endpoints, parked })
  }
  if (path === '/webhooks/deliveries') return deliveries({ store, events }, query)
  const key = /^\/webhooks\/deliveries\/(.+)$/.exec(path)?.[1]
  if (key === undefined) return undefined
  const [row] = /^[0-9a-f]+\/evt_[0-9a-z]+$/.test(key) ? await store.get('webhooks', [key]) : []
  if (!row) return apiReply(404, { error: `No delivery ${key.slice(0, 80)} is stored.` })
  return apiReply(200, { ...showDelivery(row), ...(events && { body: await events.bodyOf(row) }) })
}

type Books = Pick<Backstage, 'store' | 'events'>

async function deliveries({ store, events }: Books, query: URLSearchParams): Promise<Response> {
  const limit = Number(query.get('limit') || 50)
  const phase = query.get('phase') || undefined
  const before = query.get('before') || undefined
  const challenge = query.get('challenge') || undefined
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    return bad(`limit can be 1 to ${MAX_LIMIT}.`)
  if (phase !== undefined && !PHASES.some((known) => known === phase))
    return bad(`phase can be ${PHASES.join(' or ')}.`)
  if (before !== undefined && !/^\d{1,15}$/.test(before)) return bad('before is not a cursor of this list.')
  if (before !== undefined && (phase ?? challenge) !== undefined)
    return bad('before goes on with the list of all deliveries; one of a phase or a challenge has no pages.')
  const told = (rows: readonly WebhookRow[], next: string | null = null, more = next !== null) =>
    apiReply(200, { items: rows.map(showDelivery), next, more })
  /** Of a list that has no pages: `more` says that it is cut. */
  const first = (rows: readonly WebhookRow[]) => told(rows.slice(0, limit), null, rows.length > limit)
  const isWanted = (row: WebhookRow) => challenge === undefined || row.challengeId === challenge
  if (phase === 'parked')
    return first((await store.list('webhooks', 'parked')).filter(isWanted).sort(newestFirst))
  if (phase === 'waiting') return first(await waitingRows(store, isWanted, limit + 1))
  // Records that are read without their gateway: the endpoints are not known, but what was sent to them is.
  if (!events) return first((await newestDue(store)).filter(isWanted).sort(newestFirst))
  const rowsOf = (entries: Awaited<ReturnType<typeof store.audit>>) =>
    deliveriesOf({ store, events }, entries)
  if (challenge !== undefined) return told((await rowsOf(await store.audit(challenge))).reverse())
  const found: WebhookRow[] = []
  let to = before === undefined ? await lastSeq(store, (await headOf(store))?.seq) : Number(before) - 1
  for (let page = 0; page < MAX_PAGES && to > 0 && found.length < limit; page++) {
    const from = Math.max(0, to - PAGE)
    const entries = (await store.log(from, PAGE)).filter(({ seq }) => seq <= to)
    found.push(...(await rowsOf(entries)).reverse())
    to = from
  }
  // Alerts are in no log: they are found among what was sent last.
  if (before === undefined) {
    const since = to > 0 ? (found.at(-1)?.facts.at ?? 0) : 0
    const alerts = (await newestDue(store)).filter((row) => row.challengeId === '' && row.facts.at >= since)
    if (alerts.length > 0) found.push(...alerts)
    if (alerts.length > 0) found.sort(newestFirst)
  }
  // A whole page at a time, so that the cursor never stands between two events of one entry.
  return told(found, to > 0 ? String(to + 1) : null)
}

const newestFirst = (one: WebhookRow, other: WebhookRow): number => other.facts.at - one.facts.at

/** Up to `wanted` deliveries that wait for their next try, the soonest first. */
async function waitingRows(
  store: Books['store'],
  isWanted: (row: WebhookRow) => boolean,
  wanted: number,
): Promise<WebhookRow[]> {
  const found: WebhookRow[] = []
  for (let offset = 0; found.length < wanted; offset += PAGE) {
    const due = (await store.listDue?.('webhooks', offset, PAGE)) ?? []
    const waiting = due.filter((row) => row.phase === 'WAITING')
    found.push(...waiting.filter(isWanted))
    // Those that wait are due before all that only wait to be removed.
    if (waiting.length < PAGE) break
  }
  return found
}

/** The deliveries that are due last: those that have ended wait to be removed, the newest the longest. */
async function newestDue(store: Books['store']): Promise<WebhookRow[]> {
  if (!store.listDue) return []
  const isBeyond = async (offset: number) => (await store.listDue!('webhooks', offset, 1)).length === 0
  let high = PAGE
  while (!(await isBeyond(high))) high *= 2
  let low = 0
  while (high - low > PAGE / 2) {
    const middle = Math.floor((low + high) / 2)
    if (await isBeyond(middle)) high = middle
    else low = middle
  }
  return store.listDue('webhooks', Math.max(0, high - PAGE), PAGE)
}

/** The stored deliveries of these log entries, in their order. */
async function deliveriesOf(
  { store, events }: Books,
  entries: Awaited<ReturnType<Backstage['store']['audit']>>,
): Promise<WebhookRow[]> {
  const ids = (events?.endpoints ?? []).map(({ id }) => id)
  const keys = entries.flatMap((entry) =>
    eventsOf(entry).flatMap((event) => ids.map((endpoint) => `${endpoint}/${event.id}`)),
  )
  if (keys.length === 0) return []
  return (await store.get('webhooks', keys)).flatMap((row) => row ?? [])
}

/** `POST /webhooks/…`; undefined: not its path. */
export async function webhookAction(
  backstage: Backstage,
  request: Request,
  path: string,
): Promise<Response | undefined> {
  if (path !== '/webhooks/test' && path !== '/webhooks/resend') return undefined
  const body = await readJsonObject(request, BODY_LIMITS)
  if (body instanceof Response) return body
  const { events } = backstage
  if (!events) return apiReply(409, { error: NONE })
  if (path === '/webhooks/test') {
    const endpoint = typeof body.endpoint === 'string' ? body.endpoint : (events.endpoints[0]?.id ?? '')
    return decided(await events.test(endpoint))
  }
  const which = readWhich(body, events)
  if (which instanceof Response) return which
  if (which.key === undefined) return resendMany(backstage.store, events, which)
  const row = await events.resend(which.key)
  return decided(row instanceof GatewayError ? row : { resent: 1, ...showDelivery(row) })
}

function decided(result: object | GatewayError): Response {
  if (!(result instanceof GatewayError)) return apiReply(200, result)
  return apiReply(result.code === 'CHALLENGE_NOT_FOUND' ? 404 : 409, { error: result.message })
}
