import { ConfigError, UnavailableError } from '../../errors.ts'
import type { Committed, Store } from '../../ports.ts'
import { reasonOf } from '../../reason-of.ts'
import { fromStored, fromStoredAudit, type PreparedStep, prepareStep } from '../prepare-step.ts'
import { checkServer } from './check-server.ts'
import { connectRedis, type RedisConnection, type RedisPlace } from './connect-redis.ts'
import { gatewayTag } from './gateway-tag.ts'
import { createCommitGroups } from './group-commits.ts'
import { runScript, scripts } from './scripts.ts'
import { decodeAudit, decodeRow, encodeAudit, encodeDue, encodeRef, encodeRow } from './stored-value.ts'

export interface RedisStoreOptions extends RedisPlace {
  /** If the server could lose a payment: `warn` (default) reports it, `require` refuses to open the store. */
  durability?: 'warn' | 'require' | undefined
  /** Default: console.warn. */
  onWarning?: ((message: string) => void) | undefined
}

/**
 * The format of keys and values. Instances of two versions may share a store, so a change needs a migration plan.
 * `SEVERAL` has the same format with payments on several networks, which older versions must not judge.
 */
const LAYOUT = '1'
const SEVERAL = '2'

/**
 * The store on a Redis server, for any number of instances. No key has an expiry: the engine decides what may be removed, and
 * rows that belong together must be removed in one step, with their indexes.
 *
 * @example
 * const store = await openRedisStore({ url: 'redis://localhost:6379/0', durability: 'require' })
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const tag = gatewayTag(options.gateway)
  const connection = await connectRedis(options)
  try {
    await admit(connection, tag, options)
    return createRedisStore(connection, tag)
  } catch (error) {
    connection.close()
    throw explain(error)
  }
}

/** See holdsRecords. */
export async function redisHoldsRecords(place: RedisPlace): Promise<boolean> {
  const connection = await connectRedis(place)
  try {
    return (await connection.call('exists', `${gatewayTag(place.gateway)}:audit`)) === 1
  } catch (error) {
    throw explain(error)
  } finally {
    connection.close()
  }
}

/** Missing rights and read-only servers do not go away by waiting. */
function explain(error: unknown): Error {
  if (error instanceof ConfigError) return error
  return error instanceof Error && /^(NOPERM|READONLY) /.test(error.message)
    ? new ConfigError([`Redis cannot be used as a store: ${error.message}`])
    : new UnavailableError('the redis store', error, `Redis ${reasonOf(error)}`)
}

async function admit(
  connection: RedisConnection,
  tag: string,
  { durability = 'warn', onWarning = console.warn }: RedisStoreOptions,
): Promise<void> {
  const { lossy, unchecked } = await checkServer(connection)
  if (durability === 'require' && lossy.length > 0) throw new ConfigError(lossy)
  for (const message of [...lossy, ...unchecked]) onWarning(message)
  // A write, so that a replica or a read-only user is noticed now and not at the first payment.
  await connection.call('set', `${tag}:layout`, LAYOUT, 'NX')
  const layout = await connection.call('get', `${tag}:layout`)
  if (layout === LAYOUT || layout === SEVERAL) return
  throw new ConfigError([
    `${tag} in Redis has layout ${layout}, this version of paystile knows ${LAYOUT} and ${SEVERAL}. Update it.`,
  ])
}

function createRedisStore(connection: RedisConnection, tag: string): Store {
  let closed: Promise<void> | undefined
  const groups = createCommitGroups((steps) => ask(() => commitGroup(connection, tag, steps)))

  async function ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      throw new UnavailableError('the redis store', cause)
    }
  }
  function refuseIfClosed(): void {
    if (closed !== undefined) throw new UnavailableError('the redis store')
  }
  async function pairs(script: keyof typeof scripts, ...args: string[]): Promise<Array<[string, string]>> {
    refuseIfClosed()
    return ask(async () => inPairs(await runScript(connection, scripts[script], tag, args)))
  }

  return {
    name: 'redis',
    exclusive: false,
    commit: async (input) => {
      refuseIfClosed()
      return groups.commit(prepareStep(input))
    },
    get: async (table, keys) => {
      refuseIfClosed()
      if (keys.length === 0) return []
      const names = keys.map((key) => `${tag}:row:${table}:${key}`)
      const values = (await ask(() => connection.call('mget', ...names))) as Array<string | null>
      return values.map((value, index) => {
        return value === null ? undefined : fromStored(decodeRow(keys[index]!, value))
      })
    },
    list: async (table, ref) => {
      return (await pairs('list', table, ref)).map(([key, value]) => fromStored(decodeRow(key, value)))
    },
    takeDue: async (table, nowMs, untilMs, limit) => {
      // For Redis a negative count means "all".
      if (limit < 1) return []
      const args = [table, String(nowMs), String(untilMs), String(Math.min(limit, Number.MAX_SAFE_INTEGER))]
      return (await pairs('takeDue', ...args)).map(([key, value]) => fromStored(decodeRow(key, value)))
    },
    listDue: async (table, offset, limit) => {
      if (limit < 1) return []
      const found = await pairs('listDue', table, String(offset), String(limit))
      return found.map(([key, value]) => fromStored(decodeRow(key, value)))
    },
    audit: async (challengeId) => {
      return (await pairs('readAudit', challengeId)).map(([seq, entry]) => {
        return { ...fromStoredAudit(decodeAudit(challengeId, entry)), seq: Number(seq) }
      })
    },
    log: async (afterSeq, limit) => {
      refuseIfClosed()
      if (limit < 1) return []
      const range = [`(${afterSeq}-0`, '+', 'COUNT', String(limit)]
      const found = await ask(() => connection.call('xrange', `${tag}:audit`, ...range))
      // An entry is [id, ['challenge', challengeId, 'entry', JSON]].
      return (found as Array<[string, string[]]>).map(([id, fields]) => {
        return { ...fromStoredAudit(decodeAudit(fields[1]!, fields[3]!)), seq: Number.parseInt(id, 10) }
      })
    },
    ping: async () => {
      refuseIfClosed()
      await ask(() => connection.call('ping'))
    },
    admitSeveralNetworks: async () => {
      refuseIfClosed()
      await ask(() => connection.call('set', `${tag}:layout`, SEVERAL))
    },
    close: () => {
      closed ??= groups.idle().then(() => connection.close())
      return closed
    },
  }
}

async function commitGroup(
  connection: RedisConnection,
  tag: string,
  steps: readonly PreparedStep[],
): Promise<Committed[]> {
  const args: string[] = []
  for (const { writes, audit } of steps) {
    args.push(String(writes.length), String(audit.length))
    for (const { table, key, version, row } of writes) {
      args.push(table, key, String(version), encodeDue(row?.dueAt ?? null), encodeRef(row?.ref ?? null))
      args.push(row === null ? '' : encodeRow(row))
    }
    for (const entry of audit) args.push(entry.challengeId, encodeAudit(entry))
  }
  const results = (await runScript(connection, scripts.commit, tag, args)) as number[]
  return steps.map(({ writes }, index) => {
    const stale = writes[results[index]! - 1]
    return stale === undefined
      ? { kind: 'applied' }
      : { kind: 'conflict', table: stale.table, key: stale.key }
  })
}

function inPairs(flat: unknown): Array<[string, string]> {
  const list = flat as string[]
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index]!, list[2 * index + 1]!])
}
