import { type Env, quote, type ReadFile, readVariable } from './read-variable.ts'
import { urlFault } from './url-fault.ts'

/**
 * Variables of the standalone server, besides the options of a gateway; each also reads `NAME_FILE`. `saved`: the setup page
 * may save it in its file.
 */
export const SERVER_VARIABLES: Record<string, { saved: boolean }> = {
  PORT: { saved: false },
  ADMIN_PORT: { saved: false },
  ADMIN_TOKEN: { saved: true },
  ADMIN_URL: { saved: false },
  ADMIN_MCP_WRITES: { saved: false },
  LOG_LEVEL: { saved: true },
  ALERT_WEBHOOK_URL: { saved: true },
  METRICS_PORT: { saved: false },
  METRICS_TOKEN: { saved: false },
  SVC_MANAGED_INFRA: { saved: false },
  POSTGRES_USER: { saved: false },
  POSTGRES_PASSWORD: { saved: false },
  POSTGRES_DB: { saved: false },
  REDIS_PASSWORD: { saved: false },
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Stores that run beside this server under their usual host names. */
export interface ManagedInfra {
  redis: boolean
  postgres: boolean
}

export interface ServerSettings {
  port: number
  /** The port of the operator's pages; null: they are below the base URL. */
  adminPort: number | null
  adminToken: string | null
  /** For commands: where the dashboard of the gateway is that they ask; null: where this server has it. */
  adminUrl: string | null
  /** The operator's agent may change things, and not only look. */
  adminMcpWrites: boolean
  logLevel: LogLevel
  alertWebhookUrl: string | null
  metricsPort: number | null
  metricsToken: string | null
  /** Null: found by DNS. */
  managedInfra: ManagedInfra | null
  /** Credentials of the managed stores, named as in their official images. */
  managedAccess: {
    postgresUser: string
    postgresPassword: string
    postgresDb: string
    redisPassword: string | null
  }
}

const DEFAULT_PORT = 3000
const MIN_TOKEN_LENGTH = 16
const MANAGED = /^(none|redis|postgres|redis\s*,\s*postgres|postgres\s*,\s*redis)$/

export const LAST_PORT = 65_535

/** Digits alone: what else Number takes is a slip. */
export function readPort(text: string, example: string): { value: number } | { fault: string } {
  return /^\d{1,5}$/.test(text) && Number(text) <= LAST_PORT
    ? { value: Number(text) }
    : { fault: `is ${quote(text)}; a port is a whole number from 0 to ${LAST_PORT}, for example ${example}` }
}

/** Reads the server's own settings; each fault is one line. */
export function readServerSettings(
  env: Env,
  readFile: ReadFile,
): { settings: ServerSettings; faults: string[] } {
  const faults: string[] = []

  /** `read` returns `{ fault }` for an invalid value; then, and if the variable is not set, the default is used. */
  function take<T>(name: string, standard: T, read: (text: string) => { value: T } | { fault: string }): T {
    const found = readVariable(name, env, readFile)
    if (found === undefined) return standard
    const result = 'fault' in found ? found : read(found.text)
    if (!('fault' in result)) return result.value
    faults.push(`${found.label} ${result.fault}`)
    return standard
  }
  const text = (value: string) => ({ value })
  const token = (value: string) => {
    const example = 'for example the output of: openssl rand -hex 32'
    if (!/^[\x20-\x7e]+$/.test(value) || value !== value.trim()) {
      return {
        fault: `has a character that no Authorization header can carry; take another, ${example}`,
      }
    }
    return value.length >= MIN_TOKEN_LENGTH
      ? { value }
      : { fault: `has ${value.length} characters; it needs at least ${MIN_TOKEN_LENGTH}, ${example}` }
  }
  const port = (example: string) => (value: string) => readPort(value, example)

  const settings: ServerSettings = {
    port: take<number>('PORT', DEFAULT_PORT, port('PORT=3000')),
    adminPort: take<number | null>('ADMIN_PORT', null, port('ADMIN_PORT=3001')),
    adminToken: take<string | null>('ADMIN_TOKEN', null, token),
    adminUrl: take<string | null>('ADMIN_URL', null, (value) => {
      const fault = urlFault(value)
      return fault
        ? { fault: `${fault}, for example ADMIN_URL=https://shop.example.com/office` }
        : { value: value.replace(/\/+$/, '') }
    }),
    adminMcpWrites: take<boolean>('ADMIN_MCP_WRITES', false, (value) =>
      /^(on|off|true|false)$/i.test(value)
        ? { value: /^(on|true)$/i.test(value) }
        : { fault: `is ${quote(value)}; it can be on or off, for example ADMIN_MCP_WRITES=on` },
    ),
    logLevel: take<LogLevel>('LOG_LEVEL', 'info', (value) => {
      const level = LOG_LEVELS.find((known) => known === value.toLowerCase())
      return level
        ? { value: level }
        : { fault: `is ${quote(value)}; it can be ${LOG_LEVELS.join(', ')}, for example LOG_LEVEL=info` }
    }),
    alertWebhookUrl: take<string | null>('ALERT_WEBHOOK_URL', null, (value) => {
      const fault = urlFault(value)
      return fault
        ? { fault: `${fault}, for example ALERT_WEBHOOK_URL=https://hooks.example.com/paystile` }
        : { value }
    }),
    metricsPort: take<number | null>('METRICS_PORT', null, port('METRICS_PORT=9464')),
    metricsToken: take<string | null>('METRICS_TOKEN', null, token),
    managedInfra: take<ManagedInfra | null>('SVC_MANAGED_INFRA', null, (value) => {
      const words = value.toLowerCase()
      return MANAGED.test(words)
        ? { value: { redis: words.includes('redis'), postgres: words.includes('postgres') } }
        : {
            fault: `is ${quote(value)}; it can be redis, postgres, redis,postgres or none, for example SVC_MANAGED_INFRA=redis`,
          }
    }),
    managedAccess: {
      postgresUser: take('POSTGRES_USER', 'paystile', text),
      postgresPassword: take('POSTGRES_PASSWORD', 'paystile', text),
      postgresDb: take('POSTGRES_DB', 'paystile', text),
      redisPassword: take<string | null>('REDIS_PASSWORD', null, text),
    },
  }
  const taken = new Map([[settings.port, 'PORT']])
  for (const [name, number, example] of [
    ['ADMIN_PORT', settings.adminPort, 3001],
    ['METRICS_PORT', settings.metricsPort, 9464],
  ] as const) {
    if (number === null || number === 0) continue
    const other = taken.get(number)
    if (other) faults.push(`${name} is ${number}, as ${other} is; choose another, for example ${example}.`)
    taken.set(number, name)
  }
  return { settings, faults }
}
