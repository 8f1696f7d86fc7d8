import type { ImportPlan } from '../openapi-import/plan-import.ts'
import type { PlannedRoute } from '../openapi-import/planned-route.ts'
import type { Description } from '../openapi-import/read-description.ts'
import { priceOfRoute, priceWords } from '../openapi-import/read-price.ts'
import type { ImportBackend } from './import-backend.ts'
import type { Line, Report } from './terminal.ts'

interface Told {
  plan: ImportPlan
  description: Description
  backend: ImportBackend
  prune: boolean
  path: string
  written: boolean
  missing: readonly string[]
  /** Nothing differs from what is saved. */
  isSame: boolean
}

/** What an import did, or would do. */
export function describeImport(told: Told): Report {
  const { plan, description, backend, prune, path, written, missing, isSame } = told
  const { imported, others, notImported, notes } = plan
  const of = (kind: string) => imported.filter((one) => one.kind === kind)
  const same = of('same').length
  const lines: Line[] = [
    `${plan.title} (OpenAPI ${description.openapi}): ${imported.length === 1 ? '1 route' : `${imported.length} routes`}${backend.now === undefined ? '' : `, answered by ${backend.now}`}.`,
    ...table([
      ...of('added').map(({ route }) => ['added', nameOf(route), priceOf(route), route.routeId]),
      ...of('changed').map(({ route, changes }) => [
        'changed',
        nameOf(route),
        priceOf(route),
        changes.join('; '),
      ]),
      ...others.map((route) => [
        prune ? 'removed' : 'kept',
        nameOf(route),
        priceOf(route),
        prune ? route.routeId : 'not in the description; --prune removes it',
      ]),
    ]),
    ...(same > 0 ? [`Unchanged: ${same}.`] : []),
    ...imported.flatMap(({ route, note }) =>
      note === undefined ? [] : [`${nameOf(route)}: ${note}; --take-prices takes it.`],
    ),
    ...notImported.map(
      ({ method, path: at, reason }): Line => ({
        level: 'warn',
        text: `not imported: ${method} ${at} ${reason}.`,
      }),
    ),
    ...[...(backend.note === undefined ? [] : [backend.note]), ...notes].map(
      (text): Line => ({ level: 'warn', text }),
    ),
    ...(written
      ? [
          `${path} is written. A server that runs reads it at its next start.`,
          ...(missing.length > 0 ? ['Next: paystile init asks for what is missing to sell.'] : []),
        ]
      : [isSame ? 'Nothing to change.' : 'Nothing was written yet.']),
  ]
  return {
    lines,
    json: {
      ok: true,
      title: plan.title,
      openapi: description.openapi,
      backend: backend.now ?? null,
      imported,
      [prune ? 'removed' : 'kept']: others.map(({ routeId }) => routeId),
      notImported,
      notes: [...(backend.note === undefined ? [] : [backend.note]), ...notes],
      written,
      path,
    },
  }
}

const nameOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`

function priceOf(route: PlannedRoute): string {
  const price = priceOfRoute(route)
  return price ? priceWords(price) : 'no price'
}

function table(rows: string[][]): string[] {
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
