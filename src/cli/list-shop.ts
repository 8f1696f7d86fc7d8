import { type Description, routeUrl } from '../bridge/gateway-tools.ts'
import { reasonOf } from '../checks/run-checks.ts'
import { ConfigError } from '../errors.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { Report } from './terminal.ts'

/** What the gateway at this address sells, with the command for each. */
export async function listShop(url: string): Promise<Report> {
  const catalog = await readCatalog(url)
  if (!catalog)
    throw new ConfigError([
      `${baseOf(url)} has no catalog; name the address of a paid call, or of a gateway.`,
    ])
  return describeShop(url, catalog)
}

export const baseOf = (url: string): string => url.replace(/\/+$/, '')

/** What a gateway at this address sells; undefined: there is none. */
export async function readCatalog(url: string): Promise<DiscoveryCatalog | undefined> {
  const catalog = await readJson<DiscoveryCatalog>(`${baseOf(url)}/discover`).catch((cause: unknown) => {
    throw unreachable(url, cause)
  })
  return Array.isArray(catalog?.plans) && Array.isArray(catalog.routes) ? catalog : undefined
}

export const unreachable = (url: string, cause: unknown): ConfigError =>
  new ConfigError([`${new URL(url).host} ${reasonOf(cause)}. Nothing was paid.`])

/** Undefined: there is none, or it is no JSON. */
async function readJson<T>(url: string): Promise<T | undefined> {
  const response = await fetch(url, { signal: AbortSignal.timeout(15_000) })
  return response.ok ? ((await response.json().catch(() => undefined)) as T | undefined) : undefined
}

export async function describeShop(url: string, catalog: DiscoveryCatalog): Promise<Report> {
  const base = baseOf(url)
  const description = (await readJson<Description>(`${base}/openapi.json`).catch(() => undefined)) ?? {}
  const lines = [
    ...catalog.plans.map(
      ({ planId, unitAmount }) =>
        `${unitAmount}  npx paystile buy ${base} --plan ${planId} --max-amount '${unitAmount}'`,
    ),
    ...catalog.routes.map(({ method, path, unitAmount, maxAmount }) => {
      const how = method === 'GET' ? '' : ` --method ${method}`
      const most = unitAmount ?? maxAmount
      const address = routeUrl(base, path, description)
      if (most === undefined) return `free  ${method} ${address}`
      const price = unitAmount ?? `up to ${most}`
      return `${price}  npx paystile buy ${address}${how} --max-amount '${most}'`
    }),
  ]
  return {
    lines: lines.length > 0 ? lines : ['Nothing is sold there.'],
    json: { ok: true, plans: catalog.plans, routes: catalog.routes },
  }
}
