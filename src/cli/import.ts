import { isDeepStrictEqual } from 'node:util'
import { configFilePath, readConfigFile, type SavedValues } from '../config/config-file.ts'
import { readConfiguration } from '../config/read-configuration.ts'
import { type Env, isSet, readVariable } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { isUrl, loadFile, loadUrl } from '../openapi-import/load-description.ts'
import { type ImportPlan, planImport } from '../openapi-import/plan-import.ts'
import { type Route, RouteSchema } from '../protocol/catalog.ts'
import { readText } from '../server/load-configuration.ts'
import { describeImport } from './describe-import.ts'
import { backendOf } from './import-backend.ts'
import { readImportFlags } from './import-flags.ts'
import { saveValues } from './save-values.ts'
import type { Report, Terminal } from './terminal.ts'

export interface ImportArgs {
  source: string
  server?: string | undefined
  'data-dir'?: string | undefined
  'take-prices'?: boolean | undefined
  prune?: boolean | undefined
  raw?: boolean | undefined
  'dry-run'?: boolean | undefined
  yes?: boolean | undefined
  json?: boolean | undefined
}

/** Makes routes of an OpenAPI description and saves them where `paystile serve` reads them; all of it or nothing. */
export async function importRoutes(
  terminal: Terminal,
  args: ImportArgs,
  rawArgs: readonly string[],
): Promise<Report> {
  const flags = readImportFlags(rawArgs)
  const env: Env =
    args['data-dir'] === undefined
      ? terminal.env
      : { ...terminal.env, DATA_DIR: args['data-dir'], DATA_DIR_FILE: '' }
  if (isSet('ROUTES', env)) {
    throw new ConfigError([
      'ROUTES is set in the environment and would override what is imported; unset it, then import again.',
    ])
  }
  const folder = readVariable('DATA_DIR', env, readText)
  const dataDir = folder && 'text' in folder ? folder.text : './data'
  const { values: saved, faults } = readConfigFile(dataDir)
  if (faults.length > 0) throw new ConfigError(faults)
  const existing = routesOf(saved, dataDir)

  const description = isUrl(args.source)
    ? await loadUrl(args.source, { sameHost: false })
    : await loadFile(args.source)
  const backend = backendOf(description, args.server, env, saved)
  const choices = { existing, ...flags, server: backend.described }
  const more = { takePrices: args['take-prices'] === true, raw: args.raw === true }
  const asks = terminal.input.isTTY && terminal.output.isTTY && args.yes !== true && args.json !== true
  let plan = planImport(description, { ...choices, ...more })
  const unpriced = unpricedOf(plan)
  if (unpriced.length > 0) {
    if (!asks) throw new ConfigError([unpricedFault(unpriced)])
    const { askPrices } = await import('./import-questions.ts')
    plan = planImport(description, { ...choices, ...more, ...(await askPrices(terminal, unpriced, flags)) })
  }

  const prune = args.prune === true
  const values = merged(saved, plan, prune, backend.save)
  const isSame = isDeepStrictEqual(JSON.parse(JSON.stringify(values)), saved)
  const told = { plan, description, backend, prune, path: configFilePath(dataDir) }
  if (args['dry-run'] === true || isSame) {
    return describeImport({ ...told, written: false, missing: [], isSame })
  }
  const missing = refuseFaults(env, saved, values)
  if (asks) {
    const { confirmImport } = await import('./import-questions.ts')
    await confirmImport(terminal, describeImport({ ...told, written: false, missing: [], isSame }).lines)
  }
  saveValues(dataDir, saved, values)
  return describeImport({ ...told, written: true, missing, isSame })
}

function routesOf(saved: SavedValues, dataDir: string): Route[] {
  const list = Array.isArray(saved.ROUTES) ? (saved.ROUTES as unknown[]) : []
  return list.map((item, index) => {
    const parsed = RouteSchema.safeParse(item)
    if (parsed.success) return parsed.data
    throw new ConfigError([
      `ROUTES[${index}] in ${configFilePath(dataDir)} is no valid route (paystile doctor says why); fix it first.`,
    ])
  })
}

export const unpricedOf = ({ imported }: ImportPlan) =>
  imported.map(({ route }) => route).filter(({ unitAmount, free }) => unitAmount === undefined && !free)

function unpricedFault(unpriced: ReturnType<typeof unpricedOf>): string {
  const [first] = unpriced
  const many = unpriced.length === 1 ? 'One route has' : `${unpriced.length} routes have`
  return `${many} no price (${first!.method} ${first!.path}${unpriced.length > 1 ? ', …' : ''}): give one for all, --price '$0.01', or for some, --price '${first!.method} ${first!.path}=$0.05', or --free 'GET /status'. Nothing was written.`
}

/** Routes keep their places; new ones come last. */
function merged(
  saved: SavedValues,
  { imported, others }: ImportPlan,
  prune: boolean,
  backend: string | undefined,
): SavedValues {
  const before = Array.isArray(saved.ROUTES) ? (saved.ROUTES as Route[]) : []
  const byId = new Map(imported.map(({ route }) => [route.routeId, route]))
  const isOther = new Set(others.map(({ routeId }) => routeId))
  const stay = before.flatMap((route) => {
    const next = byId.get(route.routeId)
    if (next) return [next]
    return prune && isOther.has(route.routeId) ? [] : [route]
  })
  const added = imported.filter(({ kind }) => kind === 'added').map(({ route }) => route)
  const routes = [...stay, ...added]
  return {
    ...saved,
    ...(routes.length > 0 && { ROUTES: routes }),
    ...(backend !== undefined && { PROXY_TO_BASE_URL: backend }),
  }
}

/** Throws the faults that the import would bring; what else is missing for a server is told, and no reason to stop. */
function refuseFaults(env: Env, before: SavedValues, after: SavedValues): string[] {
  const known = readConfiguration(env, before, readText).faults
  const { faults, missing } = readConfiguration(env, after, readText)
  const own = faults.filter((fault) => !known.includes(fault))
  if (own.length > 0) throw new ConfigError([...own, 'Nothing was written.'])
  return missing
}
