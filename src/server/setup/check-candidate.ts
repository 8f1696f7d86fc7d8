import { liveChecks } from '../../checks/live-checks.ts'
import { type Finding, runChecks } from '../../checks/run-checks.ts'
import type { Configuration } from '../../config/read-configuration.ts'
import { type Fault, variableFault, variableWarnings } from '../../config/variable-fault.ts'
import type { PaymentRequired } from '../../protocol/payment.ts'
import { previewPayment } from './preview-payment.ts'
import { type Snippets, snippetsOf } from './snippets.ts'
import { findTooSmall, type TooSmall } from './too-small.ts'

export interface CheckedCandidate {
  fields: Record<string, { level: Finding['level']; message: string }>
  faults: Fault[]
  missing: Fault[]
  preview: PaymentRequired | null
  /** What further networks do not take, because its price does not carry their gas. */
  tooSmall: TooSmall[]
  snippets: Snippets
}

const RANK = { ok: 0, warn: 1, error: 2 }

/** Checks a configuration before it is saved: its values, and the servers and wallets that it names. */
export async function checkCandidate(
  configuration: Configuration,
  formFaults: readonly Fault[],
): Promise<CheckedCandidate> {
  const faults = [...formFaults, ...configuration.faults.map(variableFault)]
  const missing = configuration.missing.map(variableFault)
  const fields: CheckedCandidate['fields'] = {}
  const tell = (name: string, level: Finding['level'], message: string) => {
    const known = fields[name]
    if (!known || RANK[level] > RANK[known.level]) fields[name] = { level, message }
    else if (level === known.level) known.message += ` ${message}`
  }
  for (const { name, message } of faults) if (name) tell(name, 'error', message)
  const { options, config } = configuration
  for (const line of config ? variableWarnings(config) : []) {
    const { name, message } = variableFault(line)
    if (name) tell(name, 'warn', message)
  }
  const lonely = config && onlyHere(config.baseUrl)
  if (lonely) {
    const fix =
      'Set the address at which others reach it, for example https://api.example.com, before they buy.'
    tell('BASE_URL', 'warn', `Only this machine can reach ${lonely}. ${fix}`)
  }
  const [findings, tooSmall] = await Promise.all([runChecks(liveChecks(options)), findTooSmall(options)])
  for (const { name, level, message, fix } of findings) {
    tell(name, level, fix ? `${sentence(message)} ${fix}` : sentence(message))
  }
  return {
    fields,
    faults,
    missing,
    preview: previewPayment(options),
    tooSmall,
    snippets: snippetsOf(configuration.stated, configuration.settings.port),
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}

/** The host, if no other machine can reach it. */
function onlyHere(url: string): string | undefined {
  const { host, hostname } = new URL(url)
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname) ? host : undefined
}
