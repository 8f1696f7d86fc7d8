import { checkAgents, checkBaseUrl } from '../checks/check-base-url.ts'
import { liveChecks } from '../checks/live-checks.ts'
import { type Check, type Finding, runChecks } from '../checks/run-checks.ts'
import { standingChecks } from '../checks/standing-checks.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { variableFault, variableWarnings } from '../config/variable-fault.ts'
import { ConfigError } from '../errors.ts'
import type { Loaded } from '../server/load-configuration.ts'
import { VERSION } from '../version.ts'
import { load } from './load.ts'
import { findingLine, type Report, type Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

/** Runs every check of a server, one line each; the exit code is 1 if there is an error. */
export async function examine(terminal: Terminal, json: boolean): Promise<Report> {
  return reportOf(await diagnose(terminal, json))
}

/** One line per finding and a sum; the exit code is 1 if there is an error. */
export function reportOf(findings: readonly Finding[]): Report {
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  const counts = { ok: count('ok'), warn: count('warn'), error: count('error') }
  const width = Math.max(...findings.map(({ name }) => name.length))
  const summary = `${counts.ok} ok, ${plural(counts.warn, 'warning')}, ${plural(counts.error, 'error')}`
  return {
    lines: [...findings.map((finding) => findingLine(finding, width)), summary],
    json: { ok: counts.error === 0, version: VERSION, counts, findings },
    failed: counts.error > 0,
  }
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

async function diagnose(terminal: Terminal, json: boolean): Promise<Finding[]> {
  let loaded: Loaded
  try {
    loaded = await load(terminal)
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map(faultFinding)
    throw error
  }
  const { configuration, fileFaults, dataDir } = loaded
  const { config, faults, missing } = configuration
  const told = [...fileFaults, ...faults, ...missing].map(faultFinding)
  const checks = [...liveChecks(configuration.options), ...(config ? standingChecks(config, dataDir) : [])]
  const asked = await withBar(terminal, json, checks)
  if (!config) return [...told, ...asked]
  const placed = await runChecks([
    checkBaseUrl(config, { port: configuration.settings.port, version: VERSION }),
  ])
  // If the base URL leads to another server, its endpoints for agents are not ours.
  const reached = placed.every(({ level }) => level === 'ok')
  const agents = reached ? await runChecks(checkAgents(config)) : []
  const good: Finding = { name: 'configuration', level: 'ok', message: wordsOf(config) }
  const warnings = variableWarnings(config).map((line) => ({ ...faultFinding(line), level: 'warn' as const }))
  return [
    ...(told.length > 0 ? told : [good]),
    ...warnings,
    ...asked,
    ...refundKey(config),
    ...placed,
    ...agents,
  ]
}

function faultFinding(line: string): Finding {
  const { name } = variableFault(line)
  return { name: name ?? 'configuration', level: 'error', message: line }
}

function wordsOf({ plans, routes, networks, store }: ResolvedConfig): string {
  const sold = `${plural(plans.length, 'plan')} and ${plural(routes.length, 'route')}`
  const where = networks.map(({ network }) => `${network.id} (${network.name})`).join(', ')
  return `${sold} on ${where}, store: ${store.kind}`
}

function refundKey({ networks }: ResolvedConfig): Finding[] {
  const without = networks.filter(({ refundWalletPrivateKey }) => refundWalletPrivateKey === null)
  if (without.length === 0) return []
  const names = without.map(({ network }) => network.name).join(', ')
  const on = without.length < networks.length ? ` on ${names}` : ''
  const message = `no wallet signs refunds${on}: they wait until one does`
  return [
    {
      name: 'REFUND_WALLET_PRIVATE_KEY',
      level: 'warn',
      message,
      fix: 'Set it, normally to the key of SVC_WALLET_ADDRESS.',
    },
  ]
}

async function withBar(terminal: Terminal, json: boolean, checks: readonly Check[]): Promise<Finding[]> {
  const waiting = await startWaiting(terminal, json, 'Asking')
  let done = 0
  const counted = checks.map(
    (check): Check => ({
      ...check,
      async run(limitMs) {
        try {
          return await check.run(limitMs)
        } finally {
          waiting.at(++done, checks.length)
        }
      },
    }),
  )
  try {
    return await runChecks(counted)
  } finally {
    waiting.end()
  }
}
