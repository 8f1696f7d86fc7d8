import { z } from 'zod'
import { readDocument } from '../buyer/capped-body.ts'
import { DiscoveredRouteSchema, type DiscoveryCatalog, PlanSchema } from '../protocol/catalog.ts'

const ASK_TIMEOUT_MS = 15_000
const MAX_NAME = 128

/** What a gateway says that it sells, as far as it can be read: a catalog is what a stranger says. */
export interface ReadCatalog extends Pick<DiscoveryCatalog, 'plans' | 'routes'> {
  agentName: string
  /** What was left out, and why. */
  faults: string[]
}

/** Those parts of a gateway's openapi.json that say more of a route than its catalog. */
const DescriptionSchema = z.object({
  paths: z
    .record(
      z.string(),
      z
        .looseObject({ servers: z.array(z.object({ url: z.string().optional() })).optional() })
        .catch(() => ({})),
    )
    .optional(),
})
export type Description = z.infer<typeof DescriptionSchema>

/** Asks this address and no other: redirects are not followed. */
export function ask(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(ASK_TIMEOUT_MS) })
}

/** Of the gateway at this address. Undefined: there is none. */
export async function askCatalog(base: string): Promise<ReadCatalog | undefined> {
  const { plans, routes, agentName } = ((await askJson(`${base}/discover`)) ??
    {}) as Partial<DiscoveryCatalog>
  if (!Array.isArray(plans) || !Array.isArray(routes)) return undefined
  const faults: string[] = []
  return {
    agentName: (typeof agentName === 'string' ? agentName : new URL(base).host).slice(0, MAX_NAME),
    plans: readEach('plans', plans, PlanSchema.loose(), faults),
    routes: readEach('routes', routes, DiscoveredRouteSchema.loose(), faults),
    faults,
  }
}

/** Empty where there is none that can be read. */
export async function askDescription(base: string): Promise<Description> {
  const read = DescriptionSchema.safeParse(await askJson(`${base}/openapi.json`).catch(() => undefined))
  return read.data ?? {}
}

/** Those that can be read; one fault tells of the others. */
function readEach<T>(name: string, values: unknown[], schema: z.ZodType<T>, faults: string[]): T[] {
  const read = values.map((value) => schema.safeParse(value))
  const wrong = read.flatMap(({ error }, at) => (error ? { at, issue: error.issues[0]! } : []))
  const [first] = wrong
  if (first) {
    const place = [`${name}[${first.at}]`, ...first.issue.path].join('.')
    faults.push(
      `${wrong.length} of the ${name} in its catalog cannot be read and ${wrong.length === 1 ? 'is' : 'are'} left out: ${place}: ${first.issue.message}`,
    )
  }
  return read.flatMap(({ data }) => (data === undefined ? [] : [data]))
}

/** Undefined: there is none, it is no JSON, or longer than any such document is. */
async function askJson(url: string): Promise<unknown> {
  const response = await ask(url)
  const text = await readDocument(response)
  if (!response.ok || text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
