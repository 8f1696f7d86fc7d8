import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ManagedInfra, ServerSettings } from '../config/server-variables.ts'

export type FindHost = (name: string) => Promise<'found' | 'absent' | 'unknown'>

export interface InfraQuestion {
  settings: Pick<ServerSettings, 'managedInfra' | 'managedAccess'>
  /** Where the choice is remembered. */
  dataDir: string
  findHost?: FindHost
  /** Does the embedded store in `dataDir` hold records of payments? */
  embeddedHoldsRecords(): Promise<boolean>
  warn(message: string): void
}

/** URLs of the stores that run beside this server, by the names of their variables. */
export interface InfraAnswer {
  urls: { DATABASE_URL?: string; REDIS_URL?: string }
  chosen: ManagedInfra
}

const NONE: ManagedInfra = { redis: false, postgres: false }
const LOOKUPS = 3

/**
 * Finds the stores that run beside this server, if the configuration names none. First, what `SVC_MANAGED_INFRA` says;
 * otherwise the stores that this data folder was used with before, so that neither a failing DNS nor a new container moves
 * the records; otherwise what DNS shows now.
 */
export async function findManagedInfra(question: InfraQuestion): Promise<InfraAnswer> {
  const { settings, dataDir } = question
  const answer = (chosen: ManagedInfra): InfraAnswer => {
    return { urls: urlsOf(chosen, settings.managedAccess), chosen }
  }
  if (settings.managedInfra) return answer(settings.managedInfra)
  const remembered = recall(dataDir)
  if (remembered) return answer(remembered)
  const find = question.findHost ?? findByDns
  const [redis, postgres] = await Promise.all([find('redis'), find('postgres')])
  const shown = { redis: redis === 'found', postgres: postgres === 'found' }
  if ((shown.redis || shown.postgres) && (await question.embeddedHoldsRecords())) {
    question.warn(
      `DNS shows ${wordsOf(shown)}, but ${dataDir} holds records of payments, so the embedded store stays in use. ` +
        `SVC_MANAGED_INFRA=none confirms that; SVC_MANAGED_INFRA=${wordsOf(shown)} moves on without these records.`,
    )
    return answer(NONE)
  }
  return answer(shown)
}

/**
 * Called when a gateway runs with this choice: the next start uses it again without asking DNS. The embedded store needs no
 * such note, because its records are found in the folder.
 */
export function rememberManagedInfra(dataDir: string, { chosen }: InfraAnswer): void {
  const words = wordsOf(chosen)
  const known = recall(dataDir)
  if (words === 'none') {
    if (known) rmSync(fileIn(dataDir), { force: true })
    return
  }
  if (known && wordsOf(known) === words) return
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(fileIn(dataDir), `${words}\n`, { mode: 0o600 })
}

const fileIn = (dataDir: string): string => join(dataDir, 'managed-infra')

function recall(dataDir: string): ManagedInfra | undefined {
  try {
    const words = readFileSync(fileIn(dataDir), 'utf8').trim()
    if (!/^(redis|postgres|redis,postgres)$/.test(words)) return undefined
    return { redis: words.includes('redis'), postgres: words.includes('postgres') }
  } catch {
    return undefined
  }
}

function wordsOf({ redis, postgres }: ManagedInfra): string {
  return [redis && 'redis', postgres && 'postgres'].filter(Boolean).join(',') || 'none'
}

function urlsOf(chosen: ManagedInfra, access: ServerSettings['managedAccess']): InfraAnswer['urls'] {
  const { postgresUser, postgresPassword, postgresDb } = access
  const [user, password, db] = [postgresUser, postgresPassword, postgresDb].map(encodeURIComponent)
  const secret = access.redisPassword === null ? '' : `:${encodeURIComponent(access.redisPassword)}@`
  return {
    ...(chosen.postgres && { DATABASE_URL: `postgres://${user}:${password}@postgres:5432/${db}` }),
    ...(chosen.redis && { REDIS_URL: `redis://${secret}redis:6379/0` }),
  }
}

/** Some networks resolve every name to one address; a name counts only if a random name is not found. */
const findByDns: FindHost = async (name) => {
  const found = await lookUp(name)
  if (found !== 'found') return found
  const nonsense = `${name}-${randomBytes(6).toString('hex')}`
  return (await lookUp(nonsense)) === 'found' ? 'absent' : 'found'
}

/** Tries again if DNS cannot answer now: only "no such host" means that the host is absent. */
async function lookUp(name: string): Promise<'found' | 'absent' | 'unknown'> {
  for (let attempt = 1; ; attempt++) {
    try {
      await lookup(name)
      return 'found'
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'ENOTFOUND' || code === 'ENODATA') return 'absent'
      if (attempt === LOOKUPS) return 'unknown'
      await sleep(100 * attempt)
    }
  }
}
