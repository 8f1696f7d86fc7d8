import { ConfigError } from '../errors.ts'
import type { WebhookBody } from '../protocol/events.ts'
import type { ShownDelivery } from '../server/admin/webhook-pages.ts'
import { load } from './load.ts'
import { openBackstage } from './open-backstage.ts'
import type { OpenBackstage } from './operator-api.ts'
import type { Report, Terminal } from './terminal.ts'

const SHOWN = 100

interface Endpoints {
  endpoints: Array<{ id: string; host: string; events: string[] | null }>
  parked: number
}

async function withBackstage<T>(
  terminal: Terminal,
  purpose: 'look' | 'act',
  work: (backstage: OpenBackstage) => Promise<T>,
): Promise<T> {
  const backstage = await openBackstage(await load(terminal), purpose)
  try {
    return await work(backstage)
  } finally {
    await backstage.close()
  }
}

async function read<T>(backstage: OpenBackstage, path: string, body?: object): Promise<T> {
  return (await (await backstage.ask(path, body)).json()) as T
}

/** The newest deliveries, or those that wait or are parked. */
export function listDeliveries(
  terminal: Terminal,
  { phase, challenge }: { phase: string | undefined; challenge: string | undefined },
): Promise<Report> {
  return withBackstage(terminal, 'look', async (backstage) => {
    const { endpoints, parked } = await read<Endpoints>(backstage, '/webhooks')
    const query = new URLSearchParams({
      limit: String(SHOWN),
      ...(phase !== undefined && { phase }),
      ...(challenge !== undefined && { challenge }),
    })
    const answer = await read<{ items: ShownDelivery[]; more?: boolean }>(
      backstage,
      `/webhooks/deliveries?${query}`,
    )
    const { items } = answer
    const hosts = new Map(endpoints.map(({ id, host }) => [id, host]))
    const { via } = backstage
    const shown = items.slice(0, SHOWN)
    const isCut = answer.more === true || items.length > SHOWN
    const which = phase === 'waiting' ? 'those that are due first' : 'the newest'
    const cut = isCut ? [`There are more than these ${shown.length}, ${which}.`] : []
    const more = parked > 0 && phase !== 'parked' ? [`${parked} parked: paystile webhooks list --parked`] : []
    const empty = endpoints.length === 0 ? 'No webhooks are configured: set WEBHOOK_URL.' : 'No deliveries.'
    return {
      lines: [
        ...shown.map((item) => lineOf(item, hosts)),
        ...(shown.length === 0 ? [empty] : []),
        ...cut,
        ...more,
      ],
      json: { via, endpoints, parked, items: shown, more: isCut },
    }
  })
}

function lineOf(
  { key, type, challengeId, phase, attempts, answers, nextTryAt, at, endpoint }: ShownDelivery,
  hosts: ReadonlyMap<string, string>,
): string {
  const last = answers.at(-1)
  const answer = last ? `, last answer ${last.status ?? last.text}` : ''
  const next = nextTryAt === null ? '' : `, next try ${nextTryAt}`
  const tries = `${attempts} ${attempts === 1 ? 'try' : 'tries'}`
  const of = challengeId === undefined ? '' : ` of ${challengeId}`
  const host = hosts.get(endpoint) ?? (hosts.size === 0 ? `endpoint ${endpoint}` : 'an endpoint that is gone')
  return `${key}  ${phase}  ${type}${of} at ${at} to ${host}: ${tries}${answer}${next}`
}

/** One delivery, with the body that it is sent with. */
export function showOne(terminal: Terminal, key: string): Promise<Report> {
  return withBackstage(terminal, 'look', async (backstage) => {
    const path = `/webhooks/deliveries/${key.split('/').map(encodeURIComponent).join('/')}`
    const item = await read<ShownDelivery & { body?: WebhookBody }>(backstage, path)
    const { endpoints } = await read<Endpoints>(backstage, '/webhooks')
    return {
      lines: [
        lineOf(item, new Map(endpoints.map(({ id, host }) => [id, host]))),
        ...item.answers.map(({ at, status, text }) =>
          `    ${at}  ${status ?? 'no answer'}  ${text}`.trimEnd(),
        ),
        ...(item.body ? JSON.stringify(item.body, null, 2).split('\n') : []),
      ],
      json: { via: backstage.via, ...item },
    }
  })
}

export interface Which {
  key?: string | undefined
  parked?: boolean | undefined
  from?: string | undefined
  to?: string | undefined
  undelivered?: boolean | undefined
  endpoint?: string | undefined
}

/** Sends events again; a running server, or the next that runs, sends them. */
export async function resendDeliveries(terminal: Terminal, which: Which): Promise<Report> {
  const { key, parked, from } = which
  if ([key !== undefined, parked === true, from !== undefined].filter(Boolean).length !== 1)
    throw new ConfigError([
      'Say what to resend: one delivery as in the list, --parked, or --from (and --to).',
    ])
  return withBackstage(terminal, 'act', async (backstage) => {
    const { resent } = await read<{ resent: number }>(backstage, '/webhooks/resend', which)
    const by = backstage.via === 'server' ? `by ${backstage.place}` : 'when a server runs'
    const count = resent === 1 ? '1 event is' : `${resent} events are`
    return { lines: [`${count} sent again, ${by}.`], json: { via: backstage.via, resent } }
  })
}

/** Sends an example to each endpoint. */
export function testEndpoints(terminal: Terminal): Promise<Report> {
  return withBackstage(terminal, 'act', async (backstage) => {
    const { endpoints } = await read<Endpoints>(backstage, '/webhooks')
    if (endpoints.length === 0) throw new ConfigError(['No webhooks are configured: set WEBHOOK_URL.'])
    const results = []
    for (const { id, host } of endpoints) {
      const answer = await read<{ status: number | null; text: string }>(backstage, '/webhooks/test', {
        endpoint: id,
      })
      const ok = answer.status !== null && answer.status >= 200 && answer.status < 300
      results.push({ endpoint: id, host, ok, ...answer })
    }
    return {
      lines: results.map(({ endpoint, host, ok, status, text }) => ({
        level: ok ? ('ok' as const) : ('error' as const),
        text: `${host}  ${endpoint}  ${status === null ? text : `answers ${status} ${text}`}`.trimEnd(),
      })),
      json: { via: backstage.via, results },
      failed: results.some(({ ok }) => !ok),
    }
  })
}
