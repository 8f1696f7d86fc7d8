import { askCatalog, askDescription, type ReadCatalog } from '../bridge/gateway-documents.ts'
import { routeUrl } from '../bridge/gateway-tools.ts'
import { ConfigError } from '../errors.ts'
import { reasonOf } from '../reason-of.ts'
import type { Line, Report } from './terminal.ts'

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
export function readCatalog(url: string): Promise<ReadCatalog | undefined> {
  return askCatalog(baseOf(url)).catch((cause: unknown) => {
    throw unreachable(url, cause)
  })
}

export const unreachable = (url: string, cause: unknown): ConfigError =>
  new ConfigError([`${new URL(url).host} ${reasonOf(cause)}. Nothing was paid.`])

export async function describeShop(url: string, catalog: ReadCatalog): Promise<Report> {
  const base = baseOf(url)
  const description = await askDescription(base)
  const { plans, routes, faults } = catalog
  const sold: Line[] = [
    ...plans.map(
      ({ planId, unitAmount }) => `${unitAmount}  ${command(base, ['--plan', planId], unitAmount)}`,
    ),
    ...routes.map(({ routeId, method, path, unitAmount, maxAmount }): Line => {
      const address = routeUrl(base, path, description)
      if (address === undefined)
        return { level: 'warn', text: `route ${routeId} is left out: its path leads away from ${base}` }
      const most = unitAmount ?? maxAmount
      if (most === undefined) return `free  ${method} ${address}`
      const price = unitAmount ?? `up to ${most}`
      return `${price}  ${command(address, method === 'GET' ? [] : ['--method', method], most)}`
    }),
  ]
  return {
    lines: [
      ...(sold.length > 0 ? sold : ['Nothing is sold there.']),
      ...faults.map((text): Line => ({ level: 'warn', text })),
    ],
    json: { ok: true, plans, routes },
  }
}

/** To be pasted into a shell: whatever the seller says stays one word. */
function command(address: string, how: readonly string[], maxAmount: string): string {
  return ['npx paystile buy', ...[address, ...how, '--max-amount', maxAmount].map(shellWord)].join(' ')
}

function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
