import { setImmediate as nextTurn } from 'node:timers/promises'
import { ConfigError, UnavailableError } from '../../errors.ts'
import type { Committed, Store } from '../../ports.ts'
import { fromStored, fromStoredAudit, type PreparedStep, prepareStep } from '../prepare-step.ts'
import { commitGroup } from './commit-group.ts'
import { type Driver, LostRaceError, type Result } from './driver.ts'
import { admitSeveralNetworks } from './migrate.ts'
import { createQueries, readAudit, readRow } from './queries.ts'
import { createRecentRows } from './recent-rows.ts'
import { takeDueRows } from './take-due-rows.ts'

interface Waiting {
  step: PreparedStep
  sinceMs: number
  resolve(result: Committed): void
  reject(reason: UnavailableError): void
}

/** The store over any SQL database whose migrations have run. */
export function createSqlStore(driver: Driver): Store {
  const queries = createQueries(driver.dialect)
  // Only if no other process can change the rows.
  const recent = driver.exclusive ? createRecentRows() : undefined
  let waiting: Waiting[] = []
  let lastSize = 0
  /** A group was written since the event loop last came round: more steps of the same moment are likely. */
  let justFlushed = false
  /** Resolves when all steps that wait now have their results. */
  let flushed = Promise.resolve()
  let closed: Promise<void> | undefined

  /** The last write failed: a full disk still answers every query. */
  let writeFailed = false

  function unavailable(cause?: unknown, why?: string): UnavailableError {
    const fault = cause === undefined ? undefined : driver.faultOf?.(cause)
    return new UnavailableError(`the ${driver.name} store${fault ? ` (${fault})` : ''}`, cause, why)
  }

  async function ask<T>(work: () => Promise<T>): Promise<T> {
    if (closed !== undefined) throw unavailable()
    try {
      return await work()
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  async function flush(): Promise<void> {
    // Steps of the same tick join this group and share one wait for the disk. If the last group had a single step, this one
    // probably has a single step too, so do not wait for others.
    if (lastSize !== 1 || justFlushed) await nextTurn()
    else if (driver.exclusive) {
      justFlushed = true
      setImmediate(() => {
        justFlushed = false
      })
    }
    const group = waiting
    waiting = []
    lastSize = group.length
    try {
      const steps = group.map(({ step }) => step)
      const deferred = steps.every((step) => step.deferred)
      const results = await apply(steps, { sinceMs: group[0]?.sinceMs, deferred })
      writeFailed = false
      recent?.committed(steps.flatMap(({ writes }, index) => (isApplied(results[index]!) ? writes : [])))
      for (const [index, { resolve }] of group.entries()) resolve(results[index]!)
    } catch (cause) {
      writeFailed = true
      recent?.forget()
      const reason = unavailable(cause)
      for (const { reject } of group) reject(reason)
    }
  }

  async function apply(
    steps: readonly PreparedStep[],
    how: Parameters<Driver['transaction']>[1],
  ): Promise<Committed[]> {
    if (driver.exclusive) {
      try {
        return await driver.transaction(() => commitGroup(queries, steps, true), how)
      } catch (error) {
        if (!(error instanceof LostRaceError)) throw error
      }
    }
    return driver.transaction(() => commitGroup(queries, steps), how)
  }

  return {
    name: driver.name,
    exclusive: driver.exclusive,
    commit: async (input) => {
      if (closed !== undefined) throw unavailable()
      const step = prepareStep(input)
      return new Promise((resolve, reject) => {
        waiting.push({ step, sinceMs: performance.now(), resolve, reject })
        if (waiting.length === 1) flushed = flushed.then(flush)
      })
    },
    get: (table, keys) => {
      return ask(async () => {
        const known = keys.map((key) => recent?.get(table, key))
        const asked = keys.filter((key, index) => known[index] === undefined && isStorable(key))
        const { rows } = asked.length === 0 ? { rows: [] } : await driver.query(queries.get(table, asked))
        const found = new Map(rows.map(readRow).map((row) => [row.key, row]))
        return keys.map((key, index) => {
          const row = known[index] ?? found.get(key)
          return row && fromStored(row)
        })
      })
    },
    list: (table, ref) => {
      return ask(async () => {
        if (!isStorable(ref)) return []
        const { rows } = await driver.query(queries.list(table, ref))
        return rows.map((row) => fromStored(readRow(row)))
      })
    },
    takeDue: (table, nowMs, untilMs, limit) => {
      return ask(async () => {
        // A negative LIMIT means "all" in one database and is an error in another.
        if (limit < 1) return []
        // A lease need not be durable: a power failure that undoes it also ends the work under it.
        const take = () => takeDueRows(queries, table, nowMs, untilMs, limit)
        const taken = await driver.transaction(take, { deferred: true }).catch((cause: unknown) => {
          writeFailed = true
          throw cause
        })
        recent?.committed(taken.map((row) => ({ table, key: row.key, version: row.version - 1, row })))
        return taken.map((row) => fromStored(row))
      })
    },
    listDue: (table, offset, limit) => {
      return ask(async () => {
        if (limit < 1) return []
        const { rows } = await driver.query(queries.listDue(table, offset, limit))
        return rows.map((row) => fromStored(readRow(row)))
      })
    },
    audit: (challengeId) => {
      return ask(async () => {
        if (!isStorable(challengeId)) return []
        return readLog(await driver.query(queries.audit(challengeId)))
      })
    },
    log: (afterSeq, limit) => {
      return ask(async () => (limit < 1 ? [] : readLog(await driver.query(queries.log(afterSeq, limit)))))
    },
    ping: () => {
      return ask(async () => {
        await driver.query(queries.ping())
        // While nothing is written there may be nothing to write: nobody sends purchases to a server that is not ready.
        if (!writeFailed || !driver.tryWrite) return
        await driver.tryWrite()
        writeFailed = false
      })
    },
    ...(driver.snapshot && {
      async *snapshot() {
        if (closed !== undefined) throw unavailable()
        try {
          yield* driver.snapshot!()
        } catch (error) {
          // A copy is made for the operator, who is told what no buyer needs to know.
          const why = error instanceof Error ? error.message : undefined
          throw error instanceof ConfigError ? error : unavailable(error, why)
        }
      },
    }),
    admitSeveralNetworks: () => ask(() => driver.transaction(admitSeveralNetworks)),
    close: () => {
      closed ??= flushed.then(() => driver.close())
      return closed
    },
  }
}

const isApplied = ({ kind }: Committed): boolean => kind === 'applied'

function readLog({ rows }: Result) {
  return rows.map((row) => {
    const { seq, ...entry } = readAudit(row)
    return { ...fromStoredAudit(entry), seq }
  })
}

/** Keys with other text are never stored, and a database may refuse a query for them, so they count as absent. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
