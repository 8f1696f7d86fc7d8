import type { Put, WebhookAnswer, WebhookEndpoint, WebhookRow, Webhooks } from '../../ports.ts'
import { DAY_MS, MINUTE_MS } from '../../protocol/duration.ts'
import { DELIVERED_KEPT_MS, eventsOf } from '../../rules/events.ts'
import { nextTry, TRIED_MS } from '../../rules/webhook-backoff.ts'
import { alertOnce, type Core, getOne } from '../core.ts'
import { eventBody } from './event-body.ts'
import { createRests, type Rests } from './rest-endpoints.ts'

const BATCH = 100
const MAX_ROUNDS = 10
/** How many challenges an endpoint is told of at the same time. */
const AT_ONCE = 8
const LEASE_MS = MINUTE_MS
/** No try takes longer, so that none is begun if less is left of the lease. */
const LONGEST_TRY_MS = 15_000
const LONGEST_DELAY_MS = 10 * MINUTE_MS
const ANSWERS_KEPT = 5
/** How long the row of an event that could not be delivered is kept, for the operator to look at. */
const PARKED_KEPT_MS = 90 * DAY_MS
export const PARKED_REF = 'parked'

export interface EventSender {
  /** Sends what is due. */
  pass(): Promise<void>
  stop(): void
}

/** Sends stored events to their endpoints. Taking a row leases it, so any number of instances may do this. */
export function createEventSender(core: Core, webhooks: Webhooks): EventSender {
  const rests = createRests(core.clock)
  let stopped = false

  async function pass(): Promise<void> {
    try {
      for (let round = 0; round < MAX_ROUNDS && !stopped; round++) {
        const now = core.clock.now()
        const rows = await core.store.takeDue('webhooks', now, now + LEASE_MS, BATCH)
        await Promise.all(
          [...byKey(rows, ({ endpoint }) => endpoint)].map(([endpoint, some]) => serve(endpoint, some, now)),
        )
        if (rows.length < BATCH) return
      }
    } catch (cause) {
      core.alerts.raise('job-failed', `webhooks: ${cause instanceof Error ? cause.message : 'unknown'}`)
    }
  }

  async function serve(endpointId: string, rows: readonly WebhookRow[], takenAt: number): Promise<void> {
    await drop(core, rows)
    const waiting = rows.filter(({ phase }) => phase === 'WAITING')
    const endpoint = webhooks.endpoints.find(({ id }) => id === endpointId)
    if (!endpoint) return void (await Promise.all(waiting.map((row) => waitForEndpoint(core, row))))
    const queue = [...byKey(waiting, ({ ref, key }) => ref ?? key).values()]
    const work = async (): Promise<void> => {
      for (let group = queue.shift(); group && !stopped; group = queue.shift()) {
        if (core.clock.now() > takenAt + LEASE_MS - LONGEST_TRY_MS) return
        await sendInOrder(core, webhooks, endpoint, group, rests, takenAt)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  return {
    pass,
    stop: () => {
      stopped = true
    },
  }
}

function byKey<R>(rows: readonly R[], keyOf: (row: R) => string): Map<string, R[]> {
  const groups = new Map<string, R[]>()
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row])
  return groups
}

/** Rows that were kept long enough after their end. */
async function drop(core: Core, rows: readonly WebhookRow[]): Promise<void> {
  const removes = rows
    .filter(({ phase }) => phase === 'DELIVERED' || phase === 'PARKED')
    .map(({ key, version }) => ({ table: 'webhooks' as const, key, version }))
  await Promise.all(
    removes.map((remove) => core.store.commit({ puts: [], removes: [remove], durability: 'deferred' })),
  )
}

/** Another instance may know the endpoint already, or still; after days nobody does. */
async function waitForEndpoint(core: Core, row: WebhookRow): Promise<void> {
  const now = core.clock.now()
  if (now < row.since + TRIED_MS) return postpone(core, [row], now + MINUTE_MS)
  await park(core, row, { status: null, text: 'this address is no longer one of the endpoints' })
}

/** The events of one challenge, in the order of the log. What cannot be sent holds up what comes after it. */
async function sendInOrder(
  core: Core,
  webhooks: Webhooks,
  endpoint: WebhookEndpoint,
  taken: readonly WebhookRow[],
  rests: Rests,
  takenAt: number,
): Promise<void> {
  const mine = new Map(taken.map((row) => [row.key, row]))
  const restsUntil = rests.until(endpoint.id)
  if (restsUntil !== undefined) return postpone(core, taken, afterRest(core, taken, restsUntil))
  for (const { key, version, dueAt } of await inOrder(core, taken)) {
    const row = mine.get(key)
    if (row?.version !== version) {
      // Another instance sends it, or it waits for its next try.
      return postpone(core, [...mine.values()], Math.max(dueAt ?? 0, core.clock.now() + 1_000))
    }
    if (core.clock.now() > takenAt + LEASE_MS - LONGEST_TRY_MS) return
    const answer = await tell(core, webhooks, endpoint, row)
    mine.delete(key)
    const ok = answer.status !== null && answer.status >= 200 && answer.status < 300
    rests.tried(endpoint.id, ok)
    if (ok) {
      if (!(await finish(core, row, answer))) return
      continue
    }
    const next = await fail(core, row, answer)
    // One that is parked blocks nothing.
    if (next !== undefined) return postpone(core, [...mine.values()], next)
  }
}

/** What has waited for long waits a little longer: otherwise a backlog of thousands would be written anew every minute. */
function afterRest(core: Core, taken: readonly WebhookRow[], restsUntil: number): number {
  const now = core.clock.now()
  const waitedMs = now - Math.min(...taken.map(({ since }) => since))
  return Math.max(restsUntil, now + Math.min(LONGEST_DELAY_MS, Math.floor(waitedMs / 10)))
}

async function inOrder(core: Core, taken: readonly WebhookRow[]): Promise<WebhookRow[]> {
  const { ref, challengeId } = taken[0]!
  if (ref === null) return [...taken]
  const waiting = (await core.store.list('webhooks', ref)).filter(({ phase }) => phase === 'WAITING')
  if (waiting.length < 2) return waiting
  // The clocks of two instances may differ, so the order is that of the log.
  const log = await core.store.audit(challengeId)
  const places = new Map(log.flatMap(eventsOf).map(({ id }, index) => [id, index]))
  const placeOf = ({ eventId }: WebhookRow) => places.get(eventId) ?? places.size
  return waiting.sort((one, other) => placeOf(one) - placeOf(other))
}

async function tell(
  core: Core,
  webhooks: Webhooks,
  endpoint: WebhookEndpoint,
  row: WebhookRow,
): Promise<WebhookAnswer> {
  const challenge = row.challengeId === '' ? undefined : await getOne(core, 'challenges', row.challengeId)
  const body = JSON.stringify(eventBody(row, challenge, core.rails.explorerTxUrl))
  return webhooks.send(endpoint.id, { id: row.eventId, body, at: core.clock.now() })
}

function answered(core: Core, row: WebhookRow, answer: WebhookAnswer): WebhookRow {
  const answers = [...row.answers, { at: core.clock.now(), ...answer }].slice(-ANSWERS_KEPT)
  return { ...row, attempts: row.attempts + 1, answers }
}

/** False: the lease was over, and another instance has the row. */
async function finish(core: Core, row: WebhookRow, answer: WebhookAnswer): Promise<boolean> {
  const dueAt = core.clock.now() + DELIVERED_KEPT_MS
  const done: WebhookRow = { ...answered(core, row, answer), phase: 'DELIVERED', ref: null, dueAt }
  // If a power cut undoes it, the event is sent once more, under the same id.
  const result = await core.store.commit({ puts: [put(done)], durability: 'deferred' })
  return result.kind === 'applied'
}

/** When it is tried again; undefined: it is parked. */
async function fail(core: Core, row: WebhookRow, answer: WebhookAnswer): Promise<number | undefined> {
  const tried = answered(core, row, answer)
  const dueAt = nextTry(tried.attempts, row.since, core.clock.now())
  if (dueAt === undefined) {
    await park(core, row, answer)
    return undefined
  }
  await core.store.commit({ puts: [put({ ...tried, dueAt })], durability: 'deferred' })
  return dueAt
}

async function park(core: Core, row: WebhookRow, answer: WebhookAnswer): Promise<void> {
  const dueAt = core.clock.now() + PARKED_KEPT_MS
  const parked: WebhookRow = { ...answered(core, row, answer), phase: 'PARKED', ref: PARKED_REF, dueAt }
  const { kind } = await core.store.commit({ puts: [put(parked)] })
  if (kind !== 'applied') return
  const day = Math.floor(core.clock.now() / DAY_MS)
  alertOnce(
    core,
    `webhook ${row.endpoint} ${day}`,
    'webhook-parked',
    `endpoint ${row.endpoint} did not take ${row.type} (${row.eventId}) for three days: ${answer.text.slice(0, 100) || answer.status}. Resend it by: paystile webhooks resend --parked`,
  )
}

async function postpone(core: Core, rows: readonly WebhookRow[], dueAt: number): Promise<void> {
  await Promise.all(
    rows.map((row) => core.store.commit({ puts: [put({ ...row, dueAt })], durability: 'deferred' })),
  )
}

const put = (row: WebhookRow): Put => ({ table: 'webhooks', row })
