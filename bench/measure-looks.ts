import { type Compared, compare, type Side } from './compare.ts'
import { openConnection, requestText } from './connection.ts'
import type { Filled } from './fill-sales.ts'
import { median } from './load.ts'
import type { Target } from './targets.ts'

export const ADMIN_TOKEN = 'token-of-the-one-who-measures'
const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }

export interface Looked {
  target: Pick<Target, 'url' | 'usage'>
  sold: Filled
}

export interface LookSettings {
  rounds: number
  /** Requests of each kind, per round. */
  looks: number
  /** Of an export of a part. */
  rows: number
}

/** What the dashboard and its searches ask, and exports of a part. */
export async function measureLooks(
  sides: Record<Side, Looked>,
  { rounds, looks, rows }: LookSettings,
): Promise<Compared[]> {
  const next = {
    few: await nextOf(sides.few.target.url),
    many: await nextOf(sides.many.target.url),
  }
  const pathsOf = (side: Side): Record<string, string> => {
    const [oldest, middle, newest] = sides[side].sold.samples
    const find = (text: string) => `/challenges?limit=50&q=${encodeURIComponent(text)}`
    return {
      ...Object.fromEntries(
        ['24h', '7d', '30d', 'all'].map((range) => [`figures, ${range}`, `/overview?range=${range}`]),
      ),
      'sales, first page': '/challenges?limit=50',
      'sales, second page': `/challenges?limit=50&before=${next[side]}`,
      'sales, by state': '/challenges?limit=50&state=DELIVERED',
      'sales, by kind': '/challenges?limit=50&kind=plan',
      'search, payer': find(middle!.payer),
      'search, transaction': find(middle!.txHash),
      'search, requestId': find(middle!.requestId),
      'search, challengeId': find(oldest!.challengeId),
      'search, a text that is nowhere': find('nowhere'),
      'one sale, newest': `/challenges/${newest!.challengeId}`,
      'one sale, oldest': `/challenges/${oldest!.challengeId}`,
      'refunds waiting': '/refunds',
      credits: '/credits',
      webhooks: '/webhooks',
    }
  }
  const [few, many] = [pathsOf('few'), pathsOf('many')]
  const all: Compared[] = []
  for (const what of Object.keys(few)) {
    const path = { few: few[what]!, many: many[what]! }
    all.push(
      await compare({ what, unit: 'ms', rounds }, (side) => look(sides[side].target.url, path[side], looks)),
    )
  }
  for (const format of ['csv', 'jsonl']) {
    const ask = { what: `export of ${rows} sales, ${format}`, unit: 'ms each', rounds }
    all.push(
      await compare(ask, async (side) => {
        const { from, to } = sides[side].sold.span(rows)
        const range = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`
        const { ms, lines } = await stream(sides[side].target.url, `/export?format=${format}&${range}`)
        // Those of one transaction have one time, so that there may be a few more or less.
        const exported = lines - (format === 'csv' ? 1 : 0)
        if (exported < rows / 2 || exported > rows * 2)
          throw new Error(`an export has ${exported} sales instead of about ${rows}`)
        return ms / exported
      }),
    )
  }
  return all
}

async function nextOf(url: string): Promise<string> {
  const answer = await fetch(`${url}/admin/api/challenges?limit=50`, { headers })
  const { next } = (await answer.json()) as { next?: string | null }
  if (!next) throw new Error('there is no second page of sales')
  return next
}

/** The median time of a request, in milliseconds. */
export async function look(url: string, path: string, looks: number): Promise<number> {
  const connection = await openConnection(url)
  const request = requestText('GET', `/admin/api${path}`, { ...headers, host: new URL(url).host })
  const times: number[] = []
  try {
    for (let index = 0; index < looks; index++) {
      const startedMs = performance.now()
      const { status } = await connection.send(request)
      times.push(performance.now() - startedMs)
      if (status !== 200) throw new Error(`HTTP ${status} for ${path}`)
    }
  } finally {
    connection.close()
  }
  return median(times)
}

/** Reads so many lines of a download, and tells how long that took. */
export async function stream(
  url: string,
  path: string,
  most = Number.POSITIVE_INFINITY,
  onLines?: (lines: number) => Promise<void>,
): Promise<{ ms: number; lines: number }> {
  const startedMs = performance.now()
  const stopping = new AbortController()
  const answer = await fetch(`${url}/admin/api${path}`, { headers, signal: stopping.signal })
  if (!answer.ok || !answer.body) throw new Error(`HTTP ${answer.status} for ${path}`)
  let lines = 0
  const reader = answer.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    for (let at = value.indexOf(10); at !== -1; at = value.indexOf(10, at + 1)) lines++
    await onLines?.(lines)
    if (lines >= most) break
  }
  const ms = performance.now() - startedMs
  stopping.abort()
  return { ms, lines }
}
