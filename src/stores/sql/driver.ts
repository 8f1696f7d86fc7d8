export type Param = string | number | null

/** Parameters are written as `?`; a driver whose database numbers them rewrites the text. */
export interface Query {
  sql: string
  params: Param[]
  /** It returns one row at most, which some drivers can read faster. */
  single?: boolean
}

export interface Result {
  rows: Array<Record<string, unknown>>
  /** The number of rows that an INSERT, UPDATE or DELETE changed. */
  changes: number
}

/**
 * What a transaction does: yields queries that do not depend on each other's answers and is given their results
 * in order. A driver runs it without a pause (SQLite) or pipelines each batch over a socket (Postgres), so
 * there is one set of queries and one order of steps for both.
 */
export type Script<T> = Generator<Query[], T, Result[]>

/** Another transaction was faster. Nothing was written; running the script again sees the changes of the other one. */
export class LostRaceError extends Error {}

/** Where SQL dialects differ. */
export interface Dialect {
  /** Follows a column: tests whether it is in the parameter, a JSON array of strings. One statement for any number of keys. */
  readonly inKeys: string
  /** Ends a SELECT whose rows must not change before the transaction ends; empty where writers take turns. */
  readonly forUpdate: string
  /** The same, but skips rows that another transaction has locked. */
  readonly skipLocked: string
  /**
   * The parameter, a JSON array of objects, as a table called `new` with these columns. Absent if rows are written
   * faster one by one.
   */
  readonly records?: (columns: Readonly<Record<string, 'text' | 'bigint'>>) => string
  /** Type of a text column that sorts by bytes. */
  readonly text: string
  /** Type of a primary key that the database increments and never uses twice. */
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
   * run the script again as long as nothing of it can have been committed. A driver's timeout counts from `sinceMs`
   * (of `performance.now`), when the caller began to wait. `deferred`: a power failure may undo it.
   */
  transaction<T>(
    script: () => Script<T>,
    how?: { sinceMs?: number | undefined; deferred?: boolean },
  ): Promise<T>
  /** Writes what changes nothing, and rejects as a commit would. Absent where a query fails with the writes. */
  tryWrite?(): Promise<void>
  /** What this error says about the database, in a few words without secrets, for `/ready`, logs and alerts. */
  faultOf?(cause: unknown): string | undefined
  /** See Store.snapshot. */
  snapshot?(): AsyncGenerator<Uint8Array>
  close(): Promise<void>
}
