import { GatewayError } from '../../errors.ts'
import type { AlertKind, AuditEntry, Put, WebhookRow, Webhooks } from '../../ports.ts'
import type { WebhookBody } from '../../protocol/events.ts'
import { alertEventId, eventsOf } from '../../rules/events.ts'
import { type Core, getOne, randomText } from '../core.ts'
import { eventBody } from './event-body.ts'
import type { EventsControl, Resend } from './events-api.ts'
import { eventRow, waitingRef, wants, webhookKey } from './record-events.ts'

const ALERTS_PER_HOUR = 100

export function createEventsControl(core: Core, webhooks: Webhooks): EventsControl {
  const { endpoints } = webhooks
  const alerted = { hour: 0, ids: new Set<string>() }

  async function alert(kind: AlertKind, message: string): Promise<void> {
    // It would only add to what cannot be sent.
    if (kind === 'webhook-parked') return
    const at = core.clock.now()
    const id = alertEventId(kind, message, at)
    const hour = Math.floor(at / 3_600_000)
    if (alerted.hour !== hour) Object.assign(alerted, { hour, ids: new Set() })
    if (alerted.ids.has(id) || alerted.ids.size >= ALERTS_PER_HOUR) return
    alerted.ids.add(id)
    const wanting = endpoints.filter((endpoint) => wants(endpoint, 'alert.raised'))
    await Promise.all(
      wanting.map(async (endpoint) => {
        const entry = { at, challengeId: '', requestId: '', event: '', fromState: null, toState: null }
        const row = eventRow(endpoint.id, { ...entry, actor: 'gateway' }, { id, type: 'alert.raised' }, at)
        const facts = { at, alert: { kind, message } }
        // A conflict means that another instance raised the same alert.
        await core.store.commit({ puts: [{ table: 'webhooks', row: { ...row, ref: null, facts } }] })
      }),
    ).catch(() => undefined)
  }

  async function resendLogged(entries: readonly AuditEntry[], { endpoint, undelivered }: Resend) {
    const wanted = entries.flatMap((entry) =>
      eventsOf(entry).flatMap((event) =>
        endpoints
          .filter(({ id }) => endpoint === undefined || id === endpoint)
          .filter((one) => wants(one, event.type))
          .map(({ id }) => ({ entry, event, endpoint: id, key: webhookKey(id, event.id) })),
      ),
    )
    if (wanted.length === 0) return 0
    const rows = await core.store.get('webhooks', [...new Set(wanted.map(({ key }) => key))])
    const known = new Map(rows.flatMap((row) => (row ? [[row.key, row] as const] : [])))
    const now = core.clock.now()
    const again = new Map<string, WebhookRow>()
    for (const { entry, event, endpoint: id, key } of wanted) {
      const row = known.get(key)
      if (!row) again.set(key, eventRow(id, entry, event, now))
      else if (row.phase === 'PARKED' || (row.phase === 'DELIVERED' && !undelivered))
        again.set(key, waitingAgain(row, now))
    }
    const stored = await Promise.all(
      [...again.values()].map((row) => core.store.commit({ puts: [put(row)] })),
    )
    return stored.filter(({ kind }) => kind === 'applied').length
  }

  return {
    endpoints,
    async bodyOf(row) {
      const challenge = row.challengeId === '' ? undefined : await getOne(core, 'challenges', row.challengeId)
      return eventBody(row, challenge, core.rails.explorerTxUrl)
    },
    async resend(key) {
      const row = await getOne(core, 'webhooks', key)
      if (!row) return notFound(`No delivery ${key.slice(0, 80)} is stored.`)
      if (row.phase === 'WAITING')
        return new GatewayError('INVALID_REQUEST', 'It waits for its next try already.')
      const again = waitingAgain(row, core.clock.now())
      const { kind } = await core.store.commit({ puts: [put(again)] })
      return kind === 'applied'
        ? again
        : new GatewayError('INTERNAL_ERROR', 'The delivery changed meanwhile; try again.')
    },
    resendLogged,
    async test(id) {
      const endpoint = endpoints.find((one) => one.id === id)
      if (!endpoint) return notFound(`No endpoint ${id.slice(0, 80)} is configured.`)
      const at = core.clock.now()
      const body: WebhookBody = {
        type: 'webhook.test',
        timestamp: new Date(at).toISOString(),
        data: { message: 'A test from the operator: nothing was sold.' },
      }
      return webhooks.send(id, { id: `evt_test_${randomText(core, 12)}`, body: JSON.stringify(body), at })
    },
    alert,
  }
}

function waitingAgain(row: WebhookRow, now: number): WebhookRow {
  const ref = row.challengeId === '' ? null : waitingRef(row.endpoint, row.challengeId)
  return { ...row, phase: 'WAITING', ref, dueAt: now, attempts: 0, since: now }
}

const put = (row: WebhookRow): Put => ({ table: 'webhooks', row })
const notFound = (message: string) => new GatewayError('CHALLENGE_NOT_FOUND', message)
