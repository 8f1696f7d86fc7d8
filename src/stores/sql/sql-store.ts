import { setImmediate as nextTurn } from 'node:timers/promises'
import { UnavailableError } from '../../errors.ts'
import type { Committed, Store } from '../../ports.ts'
import { fromStored, fromStoredAudit, type PreparedStep, prepareStep } from '../prepare-step.ts'
import { commitGroup } from './commit-group.ts'
import type { Driver, Result } from './driver.ts'
import { createQueries, readAudit, readRow } from './queries.ts'
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
  let waiting: Waiting[] = []
  /** Settles when everything that waits now has its answer. */
  let flushed = Promise.resolve()
  let closed: Promise<void> | undefined

  const unavailable = (cause?: unknown) => new UnavailableError(`the ${driver.name} store`, cause)

  async function ask<T>(work: () => Promise<T>): Promise<T> {
    if (closed !== undefined) throw unavailable()
    try {
      return await work()
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  async function flush(): Promise<void> {
    // Whoever else was woken by the same turn joins in: one wait for the disk serves all of them.
    await nextTurn()
    const group = waiting
    waiting = []
    try {
      const steps = group.map(({ step }) => step)
      const results = await driver.transaction(() => commitGroup(queries, steps), group[0]?.sinceMs)
      for (const [index, { resolve }] of group.entries()) resolve(results[index]!)
    } catch (cause) {
      const reason = unavailable(cause)
      for (const { reject } of group) reject(reason)
    }
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
        const storable = keys.filter(isStorable)
        if (storable.length === 0) return keys.map(() => undefined)
        const { rows } = await driver.query(queries.get(table, storable))
        const found = new Map(rows.map(readRow).map((row) => [row.key, row]))
        return keys.map((key) => {
          const row = found.get(key)
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
        // A negative LIMIT means "all" to one database and is an error to another.
        if (limit < 1) return []
        const taken = await driver.transaction(() => takeDueRows(queries, table, nowMs, untilMs, limit))
        return taken.map((row) => fromStored(row))
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
      })
    },
    close: () => {
      closed ??= flushed.then(() => driver.close())
      return closed
    },
  }
}

function readLog({ rows }: Result) {
  return rows.map((row) => {
    const { seq, ...entry } = readAudit(row)
    return { ...fromStoredAudit(entry), seq }
  })
}

/** No step with any other text is accepted, and a database may refuse even to look for it: it is simply not there. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
