export type Param = string | number | null

/** Parameters stand as `?`; a driver whose database numbers them rewrites the text. */
export interface Query {
  sql: string
  params: Param[]
  /** It finds one row at most: some drivers then need not go through a list. */
  single?: boolean
}

export interface Result {
  rows: Array<Record<string, unknown>>
  /** Rows that an INSERT, UPDATE or DELETE touched. */
  changes: number
}

/**
 * What a transaction does: yields queries that do not depend on each other's answers and is given their results
 * in order. A driver runs it without a pause (SQLite) or pipelines each batch over a socket (Postgres), so
 * there is one set of queries and one order of steps for both.
 */
export type Script<T> = Generator<Query[], T, Result[]>

/** Another transaction was faster. Nothing is written; a script that is run again sees what the other one did. */
export class LostRaceError extends Error {}

/** Where SQL dialects differ. */
export interface Dialect {
  /** Follows a column: is it in the parameter, a JSON array of strings? One statement for any number of keys. */
  readonly inKeys: string
  /** Ends a SELECT whose rows must not change before the transaction ends; empty where writers take turns. */
  readonly forUpdate: string
  /** The same, passing over rows that another transaction holds. */
  readonly skipLocked: string
  /**
   * The parameter, a JSON array of objects, as a table called `new` with these columns. Absent where single rows are
   * written faster one by one.
   */
  readonly records?: (columns: Readonly<Record<string, 'text' | 'bigint'>>) => string
  /** Type of a text column that sorts by bytes. */
  readonly text: string
  /** Type of a primary key that the database counts up and never gives twice. */
  readonly counter: string
  /** Makes the database itself refuse to change or delete rows of this table. */
  appendOnly(table: string, counterColumn: string): string[]
}

export interface Driver {
  readonly name: string
  /** No other process can have it open. */
  readonly exclusive: boolean
  readonly dialect: Dialect
  /** Sees committed data only. */
  query(query: Query): Promise<Result>
  /**
   * All that the script did is durable when this resolves, and undone when it rejects, unless COMMIT got lost. May
   * run the script again as long as nothing of it can have been committed. A driver's patience counts from `sinceMs`
   * (of `performance.now`), when the caller began to wait. `soft`: a power cut may take it.
   */
  transaction<T>(script: () => Script<T>, how?: { sinceMs?: number | undefined; soft?: boolean }): Promise<T>
  close(): Promise<void>
}
