import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testChallenge } from '../../../test/engine/test-rows.ts'
import type { AuditEntry, Store, WebhookAnswer, WebhookRow, Webhooks } from '../../ports.ts'
import { DAY_MS, HOUR_MS } from '../../protocol/duration.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createEventsControl } from './events-control.ts'
import { recordingEvents } from './record-events.ts'
import { createEventSender } from './send-events.ts'

const START = 1_750_000_000_000
const OK: WebhookAnswer = { status: 204, text: '' }
const DOWN: WebhookAnswer = { status: 503, text: 'busy' }

const entry = (event: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  at: START,
  challengeId: 'http-1',
  requestId: 'request-1',
  event,
  fromState: 'PENDING',
  toState: 'PAID',
  actor: 'gateway',
  ...more,
})

/** One or more endpoints that answer as told, over one store. */
function open(
  endpoints: Webhooks['endpoints'] = [{ id: 'shop', url: 'https://shop.example/', events: null }],
) {
  const clock = createFakeClock(START)
  const plain = createMemoryStore()
  const store = recordingEvents(plain, endpoints)
  const sent: Array<{ endpoint: string; id: string; type: string; data: Record<string, unknown> }> = []
  const state = { answer: OK as WebhookAnswer | ((type: string) => WebhookAnswer) }
  const webhooks: Webhooks = {
    endpoints,
    async send(endpoint, { id, body }) {
      const { type, data } = JSON.parse(body)
      sent.push({ endpoint, id, type, data })
      return typeof state.answer === 'function' ? state.answer(type) : state.answer
    },
  }
  const made = testCore({ clock, store })
  const { core, alerts } = made
  const instance = () => createEventSender(core, webhooks)
  const control = createEventsControl(core, webhooks)
  const { pass } = instance()
  return {
    clock,
    store,
    plain,
    sent,
    state,
    alerts,
    instance,
    control,
    pass,
    types: () => sent.map(({ type }) => type),
  }
}

const rowsOf = async (store: Store, ...keys: string[]): Promise<WebhookRow[]> =>
  (await store.get('webhooks', keys)).map((row) => row!)

test('an event that is stored already does not hold up its transition, and is told once', async () => {
  const { store, pass, types } = open()
  await store.commit({ puts: [], audit: [entry('paid')] })
  const row = testChallenge({ key: 'http-1' })
  const again = { puts: [{ table: 'challenges' as const, row }], audit: [entry('paid'), entry('delivered')] }
  expect(await store.commit(again)).toEqual({ kind: 'applied' })
  expect(await store.commit(again)).toEqual({ kind: 'conflict', table: 'challenges', key: 'http-1' })
  await pass()
  expect(types()).toEqual(['payment.settled', 'access.delivered'])
})

test('a transition and its event are one step: a step that is refused leaves neither', async () => {
  const { store, plain, pass, sent } = open()
  const row = testChallenge({ key: 'http-1' })
  await store.commit({ puts: [{ table: 'challenges', row: { ...row, version: 7 } }], audit: [entry('paid')] })
  expect(await plain.log(0, 10)).toEqual([])
  await pass()
  expect(sent).toEqual([])
  await store.commit({ puts: [{ table: 'challenges', row }], audit: [entry('paid'), entry('delivered')] })
  await pass()
  expect(sent.map(({ type }) => type)).toEqual(['payment.settled', 'access.delivered'])
  expect(sent[0]!.data).toMatchObject({ challengeId: 'http-1', planId: 'basic', state: 'PAID' })
  await pass()
  expect(sent).toHaveLength(2)
})

test('an event that is not taken holds up later ones of its challenge, and no other', async () => {
  const { store, clock, state, pass, types, sent } = open()
  state.answer = (type) => (type === 'payment.settled' ? DOWN : OK)
  await store.commit({ puts: [], audit: [entry('paid'), entry('delivered')] })
  await store.commit({ puts: [], audit: [entry('refund-confirmed', { challengeId: 'http-2' })] })
  await pass()
  expect(types().sort()).toEqual(['payment.settled', 'refund.settled'])
  state.answer = OK
  clock.advance(4_000)
  await pass()
  expect(sent).toHaveLength(2)
  clock.advance(2_000)
  await pass()
  expect(types().slice(2)).toEqual(['payment.settled', 'access.delivered'])
  expect(sent[2]!.id).toBe(sent.find(({ type }) => type === 'payment.settled')!.id)
})

test('the order is that of the log, even if a clock was behind', async () => {
  const { store, pass, types } = open()
  await store.commit({ puts: [], audit: [entry('paid')] })
  await store.commit({ puts: [], audit: [entry('delivered', { at: START - 5_000 })] })
  await pass()
  expect(types()).toEqual(['payment.settled', 'access.delivered'])
})

test('what is not taken is tried ever more rarely for three days, then parked, and blocks nothing', async () => {
  const { store, clock, state, pass, types, alerts, control, sent } = open()
  state.answer = DOWN
  await store.commit({ puts: [], audit: [entry('paid')] })
  for (let hour = 0; hour < 73; hour++) {
    await pass()
    clock.advance(HOUR_MS)
  }
  await pass()
  const tries = sent.length
  expect(tries).toBeGreaterThan(10)
  expect(tries).toBeLessThan(25)
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1)
  const [parked] = await store.list('webhooks', 'parked')
  expect(parked).toMatchObject({ phase: 'PARKED', attempts: tries, answers: { length: 5 } })
  expect(alerts.filter(({ kind }) => kind === 'webhook-parked')).toHaveLength(1)
  state.answer = OK
  await store.commit({ puts: [], audit: [entry('delivered', { at: clock.now() })] })
  await pass()
  expect(types().at(-1)).toBe('access.delivered')
  await control.resend(parked!.key)
  await pass()
  expect(sent.at(-1)).toMatchObject({ type: 'payment.settled', id: sent[0]!.id })
  expect((await rowsOf(store, parked!.key))[0]).toMatchObject({ phase: 'DELIVERED', attempts: 1 })
})

test('three instances that look at once send each event once', async () => {
  const { store, instance, sent } = open()
  const ids = Array.from({ length: 150 }, (_, index) => `http-${index}`)
  await Promise.all(
    ids.map((challengeId) => store.commit({ puts: [], audit: [entry('paid', { challengeId })] })),
  )
  await Promise.all([instance(), instance(), instance()].map(({ pass }) => pass()))
  expect(sent).toHaveLength(150)
  expect(new Set(sent.map(({ id }) => id)).size).toBe(150)
})

test('what an instance took and never finished is sent by another when the lease is over', async () => {
  const { store, clock, pass, sent } = open()
  await store.commit({ puts: [], audit: [entry('paid')] })
  await store.takeDue('webhooks', clock.now(), clock.now() + 60_000, 10)
  await pass()
  expect(sent).toEqual([])
  clock.advance(60_000)
  await pass()
  expect(sent).toHaveLength(1)
})

test('each endpoint gets what it asked for; one that is down does not delay another', async () => {
  const { store, pass, sent, state } = open([
    { id: 'books', url: 'https://books.example/', events: ['refund.settled'] },
    { id: 'shop', url: 'https://shop.example/', events: null },
  ])
  await store.commit({ puts: [], audit: [entry('paid'), entry('refund-confirmed')] })
  await pass()
  expect(sent.map(({ endpoint, type }) => `${endpoint} ${type}`).sort()).toEqual([
    'books refund.settled',
    'shop payment.settled',
    'shop refund.settled',
  ])
  expect(new Set(sent.filter(({ type }) => type === 'refund.settled').map(({ id }) => id)).size).toBe(1)
  state.answer = OK
})

test('an endpoint that is down rests, and its events are not tried one by one', async () => {
  const { store, clock, state, pass, sent } = open()
  state.answer = DOWN
  const ids = Array.from({ length: 90 }, (_, index) => `http-${index}`)
  await Promise.all(ids.map((id) => store.commit({ puts: [], audit: [entry('paid', { challengeId: id })] })))
  await pass()
  expect(sent.length).toBeLessThan(20)
  state.answer = OK
  for (let minute = 0; minute < 3; minute++) {
    clock.advance(60_000)
    await pass()
  }
  expect(new Set(sent.map(({ id }) => id)).size).toBe(90)
})

test('a range of the log is sent again under the same ids, also to an endpoint that was not there', async () => {
  const { store, plain, clock, control, pass, sent } = open()
  await plain.commit({ puts: [], audit: [entry('paid', { challengeId: 'before' })] })
  await store.commit({ puts: [], audit: [entry('paid')] })
  await pass()
  expect(sent).toHaveLength(1)
  const log = await store.log(0, 10)
  expect(await control.resendLogged(log, { undelivered: true })).toBe(1)
  clock.advance(1000)
  await pass()
  expect(sent[1]).toMatchObject({ data: { challengeId: 'before' } })
  expect(await control.resendLogged(log, { endpoint: 'nobody' })).toBe(0)
  expect(await control.resendLogged(log, {})).toBe(2)
  await pass()
  expect(sent).toHaveLength(4)
  expect(new Set(sent.map(({ id }) => id)).size).toBe(2)
})

test('an alert is told once an hour, whoever raises it, and never the one about webhooks', async () => {
  const { control, pass, sent } = open()
  await control.alert('refund-failed', 'no money')
  await control.alert('refund-failed', 'no money')
  await control.alert('webhook-parked', 'nobody there')
  await pass()
  expect(sent).toMatchObject([{ type: 'alert.raised', data: { kind: 'refund-failed', message: 'no money' } }])
})

test('an event for an address that is no longer configured waits for it, and is parked after three days', async () => {
  const { store, clock, pass } = open()
  const gone = recordingEvents(store, [{ id: 'gone', url: 'https://gone.example/', events: null }])
  await gone.commit({ puts: [], audit: [entry('refund-confirmed')] })
  await pass()
  expect((await store.listDue!('webhooks', 0, 10)).map(({ phase }) => phase)).toContain('WAITING')
  clock.advance(3 * DAY_MS + 1)
  await pass()
  expect(await store.list('webhooks', 'parked')).toMatchObject([{ endpoint: 'gone' }])
})

test('rows are removed a month after they were delivered', async () => {
  const { store, clock, pass } = open()
  await store.commit({ puts: [], audit: [entry('paid')] })
  await pass()
  expect(await store.listDue!('webhooks', 0, 10)).toHaveLength(1)
  clock.advance(30 * DAY_MS)
  await pass()
  expect(await store.listDue!('webhooks', 0, 10)).toEqual([])
})
