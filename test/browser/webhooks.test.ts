import { expect, test } from 'vitest'
import type { Backstage } from '../../src/backstage.ts'
import { createEventsControl } from '../../src/engine/events/events-control.ts'
import { recordingEvents } from '../../src/engine/events/record-events.ts'
import { createEventSender } from '../../src/engine/events/send-events.ts'
import type { Webhooks } from '../../src/ports.ts'
import { webhookAction, webhookPage } from '../../src/server/admin/webhook-pages.ts'
import { createPages } from '../../src/server/pages.ts'
import { serveHttp } from '../../src/server/serve-http.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { createFixture, FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { testCore } from '../engine/test-core.ts'
import { expectAccessible, expectNoSidewaysScroll, openVisitor, PHONE } from './browser.ts'

const endpoints = [{ id: 'a1b2c3d4e5f6', url: 'https://shop.example/hooks?key=hunter2', events: null }]

/** The dashboard of the fixture, with the real pages of webhooks behind it. */
async function startDashboard() {
  const sent: string[] = []
  const webhooks: Webhooks = {
    endpoints,
    async send(_endpoint, { body }) {
      sent.push(JSON.parse(body).type)
      return { status: 204, text: '' }
    },
  }
  const clock = createFakeClock(Date.now())
  const store = recordingEvents(createMemoryStore(), endpoints)
  const { core } = testCore({ clock, store })
  const { pass } = createEventSender(core, webhooks)
  const entry = { at: clock.now(), challengeId: 'http-1', requestId: 'r', event: 'paid' }
  const states = { fromState: 'PENDING', toState: 'PAID', actor: 'gateway' } as const
  await store.commit({ puts: [], audit: [{ ...entry, ...states }] })
  await pass()
  const backstage = { store, events: createEventsControl(core, webhooks) } as unknown as Backstage
  const fixture = createFixture({ configured: true })
  const pages = createPages()
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    async handler(request) {
      const { pathname, searchParams } = new URL(request.url)
      const path = pathname.replace('/admin/api', '')
      const ours = path.startsWith('/webhooks')
      const answer =
        ours && request.method === 'GET'
          ? await webhookPage(backstage, path, searchParams)
          : ours
            ? await webhookAction(backstage, request, path)
            : ((await fixture.fetch(request)) ?? pages(request, pathname))
      return answer ?? new Response(null, { status: 404 })
    },
  })
  return { server, sent, pass }
}

test('the operator sees endpoints and deliveries, tries an endpoint and resends an event', async () => {
  const { server, sent, pass } = await startDashboard()
  const visitor = await openVisitor()
  const { page } = visitor
  try {
    await page.goto(`${server.url}/admin?token=${FIXTURE_TOKEN}`)
    const card = page.getByRole('region', { name: 'Webhooks' })
    await card.getByRole('row', { name: /shop\.example/ }).waitFor()
    const delivery = card.getByRole('row', { name: /payment\.settled/ })
    await delivery.getByText('delivered').waitFor()
    await card.getByRole('button', { name: 'Test shop.example' }).click()
    await card.getByText('shop.example answered 204.').waitFor()
    await delivery.getByRole('button', { name: /Resend/ }).click()
    await card.getByText('It is sent again.').waitFor()
    await pass()
    expect(sent).toEqual(['payment.settled', 'webhook.test', 'payment.settled'])
    await expectAccessible(page, 'dashboard with webhooks')
    await page.setViewportSize(PHONE)
    await expectAccessible(page, 'dashboard with webhooks on a phone')
    await expectNoSidewaysScroll(page)
    expect(await visitor.received()).not.toContain('hunter2')
    expect(visitor.complaints).toEqual([])
    await page.goto(`${server.url}/setup`)
    await page.getByLabel(/^Webhooks/).waitFor()
    await expectNoSidewaysScroll(page)
  } finally {
    await visitor.close()
    await server.close(0)
  }
}, 240_000)
