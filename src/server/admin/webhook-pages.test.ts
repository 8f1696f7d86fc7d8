import { beforeEach, describe, expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import type { Backstage } from '../../backstage.ts'
import { createEventsControl } from '../../engine/events/events-control.ts'
import { recordingEvents } from '../../engine/events/record-events.ts'
import { createEventSender } from '../../engine/events/send-events.ts'
import type { Webhooks } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { type ShownDelivery, webhookAction, webhookPage } from './webhook-pages.ts'

const START = Date.parse('2030-01-31T00:00:00Z')
const endpoints = [{ id: 'a1b2c3', url: 'https://shop.example/hooks?key=hunter2', events: null }]

let clock: ReturnType<typeof createFakeClock>
let backstage: Backstage
let status: number
let pass: () => Promise<void>
let sell: (challengeId: string) => Promise<void>

beforeEach(() => {
  clock = createFakeClock(START)
  status = 200
  const webhooks: Webhooks = { endpoints, send: async () => ({ status, text: 'said' }) }
  const store = recordingEvents(createMemoryStore(), endpoints)
  const { core } = testCore({ clock, store })
  pass = createEventSender(core, webhooks).pass
  backstage = { store, events: createEventsControl(core, webhooks) } as unknown as Backstage
  sell = async (challengeId) => {
    const states = { fromState: 'PENDING', toState: 'PAID', actor: 'gateway' } as const
    const entry = { at: clock.now(), challengeId, requestId: 'r', event: 'paid', ...states }
    await store.commit({ puts: [], audit: [entry] })
  }
})

async function get(path: string) {
  const url = new URL(path, 'http://localhost')
  const response = (await webhookPage(backstage, url.pathname, url.searchParams))!
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = (await webhookAction(backstage, new Request(`http://localhost${path}`, init), path))!
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const listed = async (query = '') => (await get(`/webhooks/deliveries${query}`)).body.items as ShownDelivery[]

describe('deliveries', () => {
  test('alerts are among them once they have arrived, although no log has them', async () => {
    await sell('http-1')
    await clock.advance(1)
    await backstage.events!.alert('gas-wallet-empty', 'send ETH')
    await clock.advance(1)
    await sell('http-2')
    await pass()
    const seen = (await listed()).map(({ type, phase }) => `${type} ${phase}`)
    expect(seen).toEqual(['payment.settled DELIVERED', 'alert.raised DELIVERED', 'payment.settled DELIVERED'])
    expect(await listed('?challenge=http-1')).toHaveLength(1)
  })

  test('are listed from the records alone, where the gateway and its endpoints are not known', async () => {
    for (let index = 0; index < 700; index++) await sell(`http-${index}`)
    await clock.advance(1000)
    await sell('http-last')
    await backstage.events!.alert('gas-wallet-empty', 'send ETH')
    await pass()
    backstage = { store: backstage.store } as Backstage
    const items = await listed('?limit=2')
    expect(items.map(({ type }) => type).sort()).toEqual(['alert.raised', 'payment.settled'])
    expect(await listed('?challenge=http-last')).toMatchObject([{ challengeId: 'http-last' }])
  })

  test('are listed newest first, with their answers, and page by page', async () => {
    for (let index = 0; index < 1200; index++) await sell(`http-${index}`)
    await pass()
    const first = await get('/webhooks/deliveries')
    const items = first.body.items as ShownDelivery[]
    expect(items[0]).toMatchObject({ challengeId: 'http-1199', type: 'payment.settled', attempts: 1 })
    expect(items[0]!.answers).toEqual([{ at: '2030-01-31T00:00:00.000Z', status: 200, text: 'said' }])
    const seen = new Set(items.map(({ key }) => key))
    for (let next = first.body.next; next; ) {
      const page = await get(`/webhooks/deliveries?before=${next}`)
      for (const { key } of page.body.items as ShownDelivery[]) {
        expect(seen).not.toContain(key)
        seen.add(key)
      }
      next = page.body.next
    }
    expect(seen.size).toBe(1200)
    expect(await listed('?challenge=http-7')).toMatchObject([{ challengeId: 'http-7' }])
  })

  test('that wait or are parked are found among those that arrived', async () => {
    await sell('taken')
    await pass()
    status = 500
    await sell('refused')
    await pass()
    expect(await listed('?phase=waiting')).toMatchObject([{ challengeId: 'refused', phase: 'WAITING' }])
    await clock.advance(3 * DAY_MS)
    await pass()
    expect(await listed('?phase=waiting')).toEqual([])
    expect(await listed('?phase=parked')).toMatchObject([{ challengeId: 'refused', nextTryAt: null }])
    expect((await get('/webhooks')).body).toEqual({
      endpoints: [{ id: 'a1b2c3', host: 'shop.example', events: null }],
      parked: 1,
    })
    expect((await post('/webhooks/resend', { parked: true })).body).toEqual({ resent: 1 })
    expect(await listed('?phase=parked')).toEqual([])
  })

  test('those that wait or are parked are listed of one challenge, and a list that is cut says so', async () => {
    status = 500
    for (const id of ['one', 'two', 'three']) await sell(id)
    await pass()
    for (const phase of ['waiting', 'parked']) {
      expect(await listed(`?phase=${phase}&challenge=two`), phase).toMatchObject([{ challengeId: 'two' }])
      expect(await listed(`?phase=${phase}&challenge=four`), phase).toEqual([])
      expect((await get(`/webhooks/deliveries?phase=${phase}&limit=3`)).body, phase).toMatchObject({
        more: false,
      })
      const cut = (await get(`/webhooks/deliveries?phase=${phase}&limit=2`)).body
      expect(cut, phase).toMatchObject({ more: true, items: [{}, {}] })
      await clock.advance(3 * DAY_MS)
      await pass()
    }
  })

  test('one is shown with the body that it is sent with, and resent', async () => {
    await sell('http-1')
    await pass()
    const [{ key }] = (await listed()) as [ShownDelivery]
    const { body } = await get(`/webhooks/deliveries/${key}`)
    expect(body).toMatchObject({ key, body: { type: 'payment.settled', data: { challengeId: 'http-1' } } })
    expect((await post('/webhooks/resend', { key })).body).toMatchObject({ resent: 1, phase: 'WAITING' })
    expect(await post('/webhooks/resend', { key })).toMatchObject({ status: 409 })
  })

  test('a range is resent: all of it, or what did not arrive', async () => {
    await sell('before')
    await clock.advance(DAY_MS)
    await sell('within')
    await clock.advance(DAY_MS)
    await sell('after')
    await pass()
    const range = { from: '2030-02-01', to: '2030-02-02' }
    expect((await post('/webhooks/resend', { ...range, undelivered: true })).body).toEqual({ resent: 0 })
    expect((await post('/webhooks/resend', range)).body).toEqual({ resent: 1 })
    expect(await listed('?phase=waiting')).toMatchObject([{ challengeId: 'within' }])
  })

  test('what did not arrive is known for thirty days: an older range is refused, and nothing is sent twice', async () => {
    const body = { from: '2020-01-01', undelivered: true }
    const { status, body: told } = await post('/webhooks/resend', body)
    expect(status).toBe(400)
    expect(told.error).toContain('30 days')
    expect(await post('/webhooks/resend', { from: '2020-01-01' })).toMatchObject({ status: 200 })
  })

  test.each([
    [{ from: '2030-01-31', to: '2030-01-01' }, 'to is not after from'],
    [{ from: '2030-01-31', to: '2030-01-31' }, 'to is not after from'],
    [{ from: '2030-01-31', to: 5 }, 'to: '],
    [{ from: '2030-01-31', undeliverd: true }, 'undeliverd'],
    [{ from: '2030-01-31', undelivered: 'yes' }, 'undelivered: '],
    [{ from: '2030-01-31', endpoint: 'nope' }, 'No endpoint nope is configured; there is a1b2c3.'],
    [{ parked: true, endpoint: 'nope' }, 'No endpoint nope'],
    [{ parked: true, from: '2030-01-31' }, 'Say what to resend'],
    [{ parked: true, to: '2029-01-01' }, 'to and undelivered go with from'],
    [{ parked: true, undelivered: true }, 'to and undelivered go with from'],
    [{ key: 'a1b2c3/evt_1', parked: true }, 'Say what to resend'],
    [{ key: 'a1b2c3/evt_1', endpoint: 'a1b2c3' }, 'leave endpoint out'],
  ])('%j is refused, and nothing is sent', async (body, error) => {
    await sell('sold')
    await pass()
    const told = await post('/webhooks/resend', body)
    expect(told).toMatchObject({ status: 400, body: { error: expect.stringContaining(error) } })
    expect(await listed('?phase=waiting')).toEqual([])
  })

  test.each(['01.02.2026', '2026-02-01T00:00'])(
    'a range from %s is refused: it is no ISO time',
    async (from) => {
      expect(await post('/webhooks/resend', { from })).toMatchObject({ status: 400 })
    },
  )
})

test('the test button tells what the endpoint answered', async () => {
  status = 404
  expect((await post('/webhooks/test', { endpoint: 'a1b2c3' })).body).toEqual({ status: 404, text: 'said' })
  expect(await post('/webhooks/test', { endpoint: 'nobody' })).toMatchObject({ status: 404 })
})

test.each([
  ['/webhooks/deliveries?limit=0', /limit can be/],
  ['/webhooks/deliveries?phase=lost', /phase can be waiting or parked/],
  ['/webhooks/deliveries?before=x', /not a cursor/],
  ['/webhooks/deliveries?before=7&phase=parked', /has no pages/],
])('%s is refused', async (path, error) => {
  expect(await get(path)).toMatchObject({ status: 400, body: { error: expect.stringMatching(error) } })
})

test.each(['nonsense', 'a1b2c3/evt_0', `a1b2c3/${'x'.repeat(200)}`])(
  'a delivery %s is not stored',
  async (key) => {
    const error = `No delivery ${key.slice(0, 80)} is stored.`
    expect(await get(`/webhooks/deliveries/${key}`)).toEqual({ status: 404, body: { error } })
  },
)

test('what to resend must be said, and without webhooks there is nothing', async () => {
  expect(await post('/webhooks/resend', {})).toMatchObject({ status: 400 })
  expect(await post('/webhooks/resend', { from: 'soon' })).toMatchObject({ status: 400 })
  backstage = { store: backstage.store } as unknown as Backstage
  expect(await post('/webhooks/resend', { parked: true })).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('WEBHOOK_URL') },
  })
})
