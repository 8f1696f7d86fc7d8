import { findNetwork } from '../protocol/networks.ts'
import { exampleOf } from './check-catalog.ts'
import { STANDARD_LIMITS } from './check-limits.ts'
import { jsonFaultAt, placeOf } from './json-fault.ts'
import { NETWORK_VARIABLES, networkVariable, networkVariablesAmong } from './network-variables.ts'
import type { GatewayOptions, LabelName, OptionName, OptionSource } from './options.ts'
import { EXAMPLE_NETWORKS } from './read-custom-networks.ts'
import { type Env, quote, type ReadFile, readVariable } from './read-variable.ts'
import { checkConfig } from './resolve-config.ts'
import { readServerSettings, type ServerSettings } from './server-variables.ts'

type Kind = 'text' | 'whole number' | 'number' | 'flag' | 'JSON' | 'secret JSON' | 'PEM' | 'folder'

/** Every variable that becomes an option; each also reads `NAME_FILE`. */
export const VARIABLES: Record<string, { option: OptionName; kind: Kind; member?: string }> = {
  SVC_WALLET_ADDRESS: { option: 'walletAddress', kind: 'text' },
  SVC_NETWORK: { option: 'network', kind: 'text' },
  NETWORKS: { option: 'customNetworks', kind: 'secret JSON' },
  MAX_GAS_SHARE: { option: 'maxGasShare', kind: 'text' },
  PLANS: { option: 'plans', kind: 'JSON' },
  ROUTES: { option: 'routes', kind: 'JSON' },
  PROXY_TO_BASE_URL: { option: 'proxyTo', member: 'baseUrl', kind: 'text' },
  PROXY_SECRET: { option: 'proxyTo', member: 'secret', kind: 'text' },
  PROXY_TIMEOUT_SECONDS: { option: 'proxyTo', member: 'timeoutSeconds', kind: 'whole number' },
  AGENT_NAME: { option: 'agentName', kind: 'text' },
  AGENT_DESCRIPTION: { option: 'agentDescription', kind: 'text' },
  AGENT_VERSION: { option: 'agentVersion', kind: 'text' },
  PROVIDER_NAME: { option: 'provider', member: 'organization', kind: 'text' },
  PROVIDER_URL: { option: 'provider', member: 'url', kind: 'text' },
  CONTACT_EMAIL: { option: 'contactEmail', kind: 'text' },
  A2A_ENABLED: { option: 'a2a', member: 'enabled', kind: 'flag' },
  A2A_STREAMING: { option: 'a2a', member: 'streaming', kind: 'flag' },
  A2A_TRANSFER_PROOFS: { option: 'a2a', member: 'transferProofs', kind: 'flag' },
  MCP_ENABLED: { option: 'mcp', member: 'enabled', kind: 'flag' },
  MCP_ROUTES: { option: 'mcp', member: 'routes', kind: 'flag' },
  DOCUMENTS_ENABLED: { option: 'documents', kind: 'flag' },
  SHOP_WINDOW: { option: 'shopWindow', member: 'enabled', kind: 'flag' },
  SHOP_NAME: { option: 'shopWindow', member: 'name', kind: 'text' },
  SHOP_LOGO_URL: { option: 'shopWindow', member: 'logoUrl', kind: 'text' },
  SHOP_COLOR: { option: 'shopWindow', member: 'color', kind: 'text' },
  BASE_URL: { option: 'baseUrl', kind: 'text' },
  RESOURCE_ENDPOINT: { option: 'resourceEndpoint', kind: 'text' },
  FACILITATOR_URL: { option: 'facilitatorUrl', kind: 'text' },
  CDP_API_KEY_ID: { option: 'cdpApiKeyId', kind: 'text' },
  CDP_API_KEY_SECRET: { option: 'cdpApiKeySecret', kind: 'text' },
  GAS_WALLET_PRIVATE_KEY: { option: 'gasWalletPrivateKey', kind: 'text' },
  SETTLER_CONTRACT: { option: 'settlerContract', kind: 'flag' },
  REFUND_WALLET_PRIVATE_KEY: { option: 'refundWalletPrivateKey', kind: 'text' },
  ALLOWED_WALLET_FACTORIES: { option: 'allowedWalletFactories', kind: 'text' },
  RPC_URL: { option: 'rpcUrl', kind: 'text' },
  EXPLORER_TX_URL: { option: 'explorerTxUrl', kind: 'text' },
  DATA_DIR: { option: 'store', kind: 'folder' },
  DATABASE_URL: { option: 'databaseUrl', kind: 'text' },
  REDIS_URL: { option: 'redisUrl', kind: 'text' },
  SVC_SECRET_KEY: { option: 'secretKey', kind: 'text' },
  RECEIPT_PRIVATE_KEY: { option: 'receiptPrivateKey', kind: 'PEM' },
  SIGNED_OFFERS: { option: 'signedOffers', kind: 'flag' },
  TOKEN_SECRET: { option: 'tokenSecret', kind: 'text' },
  TOKEN_PRIVATE_KEY: { option: 'tokenPrivateKey', kind: 'PEM' },
  ISSUE_TOKEN_API: { option: 'issueTokenApi', kind: 'text' },
  ISSUE_TOKEN_API_SECRET: { option: 'issueTokenApiSecret', kind: 'text' },
  TOKEN_TTL_SECONDS: { option: 'tokenTtlSeconds', kind: 'whole number' },
  CHALLENGE_TTL_SECONDS: { option: 'challengeTtlSeconds', kind: 'whole number' },
  SETTLE_WAIT_SECONDS: { option: 'settleWaitSeconds', kind: 'whole number' },
  CONFIRMATIONS: { option: 'confirmations', kind: 'whole number' },
  POLL_INTERVAL_MS: { option: 'pollIntervalMs', kind: 'whole number' },
  REFUND_INTERVAL_SECONDS: { option: 'refundIntervalSeconds', kind: 'whole number' },
  REFUND_MIN_AGE_SECONDS: { option: 'refundMinAgeSeconds', kind: 'whole number' },
  MAX_BODY_BYTES: { option: 'maxBodyBytes', kind: 'whole number' },
  MAX_RESOURCE_BYTES: { option: 'maxResourceBytes', kind: 'whole number' },
  REQUEST_TIMEOUT_SECONDS: { option: 'requestTimeoutSeconds', kind: 'whole number' },
  RATE_LIMIT_PER_MINUTE: { option: 'rateLimitPerMinute', kind: 'whole number' },
  PAYER_FAILURES_PER_MINUTE: { option: 'payerFailuresPerMinute', kind: 'whole number' },
  PAYER_UNDELIVERED_PER_DAY: { option: 'payerUndeliveredPerDay', kind: 'whole number' },
  PAYER_LOST_GAS_PER_DAY: { option: 'payerLostGasPerDay', kind: 'whole number' },
  LOST_GAS_PER_DAY: { option: 'lostGasPerDay', kind: 'whole number' },
  RETENTION_DAYS: { option: 'retentionDays', kind: 'whole number' },
  TRUST_PROXY: { option: 'trustProxy', kind: 'flag' },
  WEBHOOK_URL: { option: 'webhooks', member: 'urls', kind: 'text' },
  WEBHOOK_SECRET: { option: 'webhooks', member: 'secrets', kind: 'text' },
  WEBHOOK_ALLOW_HOSTS: { option: 'webhookAllowHosts', kind: 'text' },
}

/** The main member of an option, such as the base URL of `proxyTo`: messages about the whole option name its variable. */
const CHIEF_MEMBERS: ReadonlySet<string | undefined> = new Set([
  undefined,
  'baseUrl',
  'enabled',
  'organization',
  'urls',
])

function labelOf(option: OptionName, member: string | undefined): LabelName {
  return CHIEF_MEMBERS.has(member) ? option : (`${option}.${member}` as LabelName)
}

/** How messages name options that are set in the environment. */
export const VARIABLE_LABELS: { readonly [N in LabelName]?: string } = Object.fromEntries(
  Object.entries(VARIABLES).map(([name, { option, member }]) => [labelOf(option, member), name]),
)

export interface EnvOptions {
  options: GatewayOptions
  /** For resolveConfig: makes its messages name variables instead of options, and carries the faults found here. */
  source: OptionSource
  /** Required variables that are missing, one line each with an example. */
  missing: string[]
  /** The settings of the server itself; their faults are in `source`. */
  settings: ServerSettings
}

/**
 * Reads the environment of the standalone server. A blank variable counts as unset.
 *
 * @example
 * import { readFileSync } from 'node:fs'
 * import { resolveConfig } from './resolve-config.ts'
 *
 * const { options, source } = optionsFromEnv(process.env, (path) => readFileSync(path, 'utf8'))
 * const config = resolveConfig(options, source)
 */
export function optionsFromEnv(env: Env, readFile: ReadFile): EnvOptions {
  const { settings, faults } = readServerSettings(env, readFile)
  const unreadable: LabelName[] = []
  const labels: { [N in LabelName]?: string } = {}
  const read: { [N in OptionName]?: unknown } = {}

  read.baseUrl = `http://localhost:${settings.port}`
  for (const [name, { option, kind, member }] of Object.entries(VARIABLES)) {
    const found = readVariable(name, env, readFile)
    const label = found?.label ?? name
    labels[labelOf(option, member)] = label
    if (found === undefined) continue
    const parsed = 'fault' in found ? found : parse(found.text, kind, `${name}=${goodValue(option, kind)}`)
    if ('fault' in parsed) {
      faults.push(`${label} ${parsed.fault}`)
      unreadable.push(option)
    } else if (member === undefined) read[option] = parsed.value
    else read[option] = { ...(read[option] as object | undefined), [member]: parsed.value }
  }
  const perNetwork: Record<number, Record<string, unknown>> = {}
  for (const name of networkVariablesAmong(Object.keys(env))) {
    const found = readVariable(name, env, readFile)
    const { option, chainId } = networkVariable(name)!
    if (found === undefined) continue
    labels[`perNetwork.${chainId}.${option}`] = found.label
    const { kind } = NETWORK_VARIABLES[option]
    const parsed = 'fault' in found ? found : parse(found.text, kind, `${name}=${goodValue(option, kind)}`)
    if ('fault' in parsed) {
      faults.push(`${found.label} ${parsed.fault}`)
      unreadable.push(`perNetwork.${chainId}.${option}`)
    }
    // An unreadable one is there all the same: its network may be one that is not configured.
    perNetwork[chainId] = { ...perNetwork[chainId], [option]: 'fault' in parsed ? undefined : parsed.value }
  }
  if (Object.keys(perNetwork).length > 0) read.perNetwork = perNetwork
  // resolveConfig checks every value at run time, as it must for callers without types.
  const options = read as unknown as GatewayOptions
  const source = { labels, faults, unreadable }
  return { options, source, missing: checkConfig(options, source).missing, settings }
}

/** Words of networks in the variable that describes networks are meant for the one that chooses them. */
function networkWords(text: string): string | undefined {
  const words = text.split(',').map((word) => word.trim())
  if (!words.every((word) => findNetwork(word))) return undefined
  return `describes networks that are not known, as JSON; to choose known ones, set SVC_NETWORK=${words.join(',')}`
}

/** A value that could be copied, as messages show it. */
function goodValue(option: string, kind: Kind): string {
  switch (kind) {
    case 'whole number':
      return String({ ...STANDARD_LIMITS, proxyTo: 30, confirmations: 1 }[option])
    case 'number':
      return '0.5'
    case 'flag':
      return 'true'
    case 'JSON':
      return `'${exampleOf(option === 'plans' ? 'plans' : 'routes')}'`
    case 'secret JSON':
      return `'${EXAMPLE_NETWORKS}'`
    case 'text':
    case 'PEM':
    case 'folder':
      return ''
  }
}

/** A PEM key as its variable has it: in env files and container settings a value has one line, so line breaks are written as \n. */
export const withLineBreaks = (pem: string): string => pem.replaceAll('\\n', '\n')

/** `example`: how the variable could be set. */
function parse(text: string, kind: Kind, example: string): { value: unknown } | { fault: string } {
  switch (kind) {
    case 'text':
      return { value: text }
    case 'whole number':
      if (/^-?\d{1,15}$/.test(text)) return { value: Number(text) }
      return { fault: `is ${quote(text)}; it must be a whole number, for example ${example}` }
    case 'number':
      if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return { value: Number(text) }
      return { fault: `is ${quote(text)}; it must be a number, for example ${example}` }
    case 'flag': {
      const value = { true: true, '1': true, on: true, false: false, '0': false, off: false }[
        text.toLowerCase()
      ]
      return value === undefined
        ? { fault: `is ${quote(text)}; it must be true or false, for example ${example}` }
        : { value }
    }
    case 'secret JSON':
    case 'JSON': {
      const at = jsonFaultAt(text)
      if (at === undefined) return { value: JSON.parse(text) }
      // The text around the fault may be a key.
      if (kind === 'secret JSON')
        return {
          fault:
            networkWords(text) ??
            `is no valid JSON at ${placeOf(text, at)}; it must be JSON, for example ${example}`,
        }
      const near = at < text.length ? `near ${quote(text.slice(at, at + 12))}` : 'where it ends too early'
      return {
        fault: `is no valid JSON at ${placeOf(text, at)}, ${near}; it must be JSON, for example ${example}`,
      }
    }
    case 'PEM':
      return { value: withLineBreaks(text) }
    case 'folder':
      return { value: { dataDir: text } }
  }
}
