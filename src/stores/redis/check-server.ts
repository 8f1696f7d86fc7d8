import { ConfigError } from '../../errors.ts'
import type { RedisConnection } from './connect-redis.ts'

/** `lossy`: settings with which a payment could be lost. `unchecked`: settings that the server does not show. */
export interface ServerCheck {
  lossy: string[]
  unchecked: string[]
}

const OLDEST = [6, 2] as const

/**
 * Checks whether the server is durable. INFO shows most of it, also on managed servers, where CONFIG is forbidden. Throws
 * ConfigError if the server is too old.
 */
export async function checkServer(connection: Pick<RedisConnection, 'call'>): Promise<ServerCheck> {
  const facts = await readFacts(connection)
  checkVersion(facts.get('redis_version'))
  const lossy: string[] = []
  const unchecked: string[] = []
  const expect = (what: string, found: string | undefined, wanted: string, danger: string) => {
    if (found === undefined)
      unchecked.push(`Redis does not tell its ${what}; make sure that it is ${wanted}.`)
    else if (found !== wanted) lossy.push(`Redis has ${what} ${found}: ${danger} Set ${what} ${wanted}.`)
  }
  expect(
    'maxmemory-policy',
    facts.get('maxmemory_policy') ?? (await readSetting(connection, 'maxmemory-policy')),
    'noeviction',
    'it may drop records of payments when memory is short.',
  )
  const appendonly = yesNo(facts.get('aof_enabled')) ?? (await readSetting(connection, 'appendonly'))
  expect('appendonly', appendonly, 'yes', 'a restart forgets the payments since the last snapshot.')
  // Without the append-only file, its fsync setting does not matter.
  if (appendonly !== 'no') {
    const appendfsync = await readSetting(connection, 'appendfsync')
    expect(
      'appendfsync',
      appendfsync,
      'always',
      'a power cut forgets the last payments, and buyers lose theirs.',
    )
  }
  return { lossy, unchecked }
}

function checkVersion(version: string | undefined): void {
  if (version === undefined) return
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return
  throw new ConfigError([`Redis is version ${version}; ${OLDEST.join('.')} or later is needed.`])
}

async function readFacts(connection: Pick<RedisConnection, 'call'>): Promise<Map<string, string>> {
  const text = await tell(() => connection.call('info'))
  const lines = String(text ?? '').matchAll(/^([a-z_0-9]+):(.*?)\r?$/gm)
  return new Map(Array.from(lines, ([, name, value]) => [name!, value!]))
}

async function readSetting(
  connection: Pick<RedisConnection, 'call'>,
  name: string,
): Promise<string | undefined> {
  const answer = await tell(() => connection.call('config', 'GET', name))
  const value: unknown = Array.isArray(answer) ? answer[1] : undefined
  return typeof value === 'string' ? value : undefined
}

/** Undefined if the server refuses the command; rejects if it does not answer. */
async function tell(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR) /.test(error.message)) return undefined
    throw error
  }
}

function yesNo(flag: string | undefined): string | undefined {
  return flag === undefined ? undefined : flag === '1' ? 'yes' : 'no'
}
