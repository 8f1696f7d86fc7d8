import type { Store, StoreChoice } from '../ports.ts'
import type { Network } from '../protocol/network.ts'
import { kindOf, type OptionReader } from './option-reader.ts'
import type { SecretKeyConfig } from './resolved-config.ts'

const DEFAULT_DATA_DIR = './data'
const MIN_SECRET_KEY_LENGTH = 32
const STORE_METHODS = ['commit', 'get', 'list', 'takeDue', 'audit', 'log', 'ping', 'close'] as const

export function readStore(reader: OptionReader, network: Network | undefined): StoreChoice {
  const databaseUrl = reader.text('databaseUrl')
  const redisUrl = reader.text('redisUrl')
  if (databaseUrl === undefined && redisUrl === undefined) return readOwnStore(reader, network)
  const given = reader.value('store') as unknown
  // DATA_DIR may be set beside a database, because the container sets it. Any other second store is a contradiction.
  if (given !== undefined && storeOf(given)?.kind !== 'embedded') {
    const name = reader.label(databaseUrl === undefined ? 'redisUrl' : 'databaseUrl')
    reader.fault('store', `and ${name} are both given; records live in one place, keep one of them.`)
  }
  checkScheme(
    reader,
    'databaseUrl',
    databaseUrl,
    /^postgres(ql)?:\/\/./,
    'postgres://user:password@host:5432/database',
  )
  checkScheme(
    reader,
    'redisUrl',
    redisUrl,
    /^rediss?(\+(sentinel|cluster))?:\/\/./,
    'redis://:password@host:6379/0',
  )
  if (databaseUrl !== undefined) return { kind: 'postgres', url: databaseUrl, wakeupsUrl: redisUrl ?? null }
  return { kind: 'redis', url: redisUrl!, mustBeDurable: network?.testnet === false }
}

/** The value is never shown: it usually holds a password. */
function checkScheme(
  reader: OptionReader,
  name: 'databaseUrl' | 'redisUrl',
  url: string | undefined,
  scheme: RegExp,
  example: string,
): void {
  if (url !== undefined && !scheme.test(url))
    reader.fault(name, `is not a URL of its kind, for example ${example}`)
}

function readOwnStore(reader: OptionReader, network: Network | undefined): StoreChoice {
  const value: unknown = reader.value('store') ?? { dataDir: DEFAULT_DATA_DIR }
  const store = storeOf(value)
  if (!store) {
    reader.fault('store', `is ${kindOf(value)} that is no store; for example store: { dataDir: "./data" }`)
    return { kind: 'memory' }
  }
  const forgets = store.kind === 'memory' || (store.kind === 'custom' && store.store.name === 'memory')
  if (forgets && network?.testnet === false) {
    reader.fault(
      'store',
      'is in memory and forgets who has paid when the process ends; mainnet needs a durable one, for example store: { dataDir: "./data" }',
    )
  }
  return store
}

function storeOf(value: unknown): StoreChoice | undefined {
  if (value === 'memory') return { kind: 'memory' }
  if (typeof value !== 'object' || value === null) return undefined
  if (isStore(value)) return { kind: 'custom', store: value }
  const { dataDir, ...rest } = value as { dataDir?: unknown }
  if (typeof dataDir !== 'string' || dataDir.trim() === '' || Object.keys(rest).length > 0) return undefined
  return { kind: 'embedded', dataDir }
}

function isStore(value: object): value is Store {
  return STORE_METHODS.every((method) => typeof (value as Record<string, unknown>)[method] === 'function')
}

/** Instances with different secrets would refuse each other's challenges, so only the embedded store may generate its own. */
export function readSecretKey(reader: OptionReader, store: StoreChoice): SecretKeyConfig {
  const list = reader.text('secretKey')
  if (list !== undefined) {
    const keys = list.split(',').map((key) => key.trim())
    keys.forEach((key, index) => {
      const which = keys.length > 1 ? `(key ${index + 1} of ${keys.length}) ` : ''
      if (key.length < MIN_SECRET_KEY_LENGTH) {
        const fault = `has ${key.length} characters; a key has at least ${MIN_SECRET_KEY_LENGTH}, for example the output of: openssl rand -hex 32`
        reader.fault('secretKey', which + fault)
      } else if (keys.indexOf(key) < index) reader.fault('secretKey', `${which}is there twice; keep it once.`)
    })
    return { kind: 'given', list: keys.join(',') }
  }
  if (store.kind === 'embedded') return { kind: 'generated', dataDir: store.dataDir }
  if (store.kind !== 'memory') {
    const example = `the output of "openssl rand -hex 32" as ${reader.label('secretKey')}`
    reader.miss(['secretKey'], `a store that instances share needs it, for example ${example}`)
  }
  return { kind: 'ephemeral' }
}
