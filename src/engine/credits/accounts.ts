import type { AuditEntry, CallRow, CreditRow, Put, Step } from '../../ports.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import { dueOf } from './credit-rows.ts'

/** What a change of an account works on: the rows as they are, with what changes before it in the same step have left. */
export interface AccountView {
  now: number
  /** Read in this very step. Otherwise they are as this instance last knew them, and more may have been bought since. */
  fresh: boolean
  rows: readonly CreditRow[]
  /** The row of the call's Idempotency-Key, if the change names one. */
  call: CallRow | undefined
  put(rows: readonly CreditRow[]): void
  putCall(row: CallRow): void
  removeCall(): void
  remove(row: CreditRow): void
  /** Goes into the same step. */
  also(more: { puts?: Put[]; audit?: AuditEntry[] }): void
}

/** Changes an account, or only reads it. Must not wait, and may be run again with other rows. */
export interface AccountChange<T> {
  /** The key of a row of `calls`. */
  callKey?: string | undefined
  apply(view: AccountView): T
}

/** Thrown by a change that must not be decided by rows that may be out of date. */
export class ReadAgain extends Error {}

export interface Accounts {
  /**
   * Applies a change in one atomic step. Changes of one account that come at the same time share a step. Rejects if the
   * store does not answer: nothing is known then.
   */
  change<T>(account: string, change: AccountChange<T>): Promise<T>
  /** What is known of the account is out of date. */
  forget(account: string): void
}

interface Waiting {
  change: AccountChange<unknown>
  resolve(value: unknown): void
  reject(reason: unknown): void
}

interface Account {
  waiting: Waiting[]
  running: boolean
  /** The rows as they are stored, as far as is known. */
  rows: CreditRow[] | undefined
}

/** How many accounts are remembered. */
const MAX_KNOWN = 20_000
/** So many other writers may be first in a row. */
const MAX_TRIES = 100

/** The credit accounts, as one instance works on them. The store's versions decide, and this only saves steps and reads. */
export function createAccounts(core: Core): Accounts {
  const accounts = new Map<string, Account>()

  function accountAt(ref: string): Account {
    let account = accounts.get(ref)
    if (!account) {
      if (accounts.size >= MAX_KNOWN) dropIdle()
      account = { waiting: [], running: false, rows: undefined }
      accounts.set(ref, account)
    }
    return account
  }

  function dropIdle(): void {
    let left = MAX_KNOWN / 10
    for (const [ref, { running }] of accounts) {
      if (!running && left-- > 0) accounts.delete(ref)
    }
  }

  async function run(ref: string, account: Account): Promise<void> {
    account.running = true
    while (account.waiting.length > 0) {
      const together = account.waiting
      account.waiting = []
      try {
        await runTogether(ref, account, together)
      } catch (cause) {
        account.rows = undefined
        for (const { reject } of together) reject(cause)
      }
    }
    account.running = false
  }

  async function runTogether(ref: string, account: Account, together: readonly Waiting[]): Promise<void> {
    for (let race = 0; race < MAX_TRIES; race++) {
      const fresh = account.rows === undefined
      const named = together.some(({ change }) => change.callKey !== undefined)
      const [known, calls] =
        account.rows && !named
          ? [account.rows, new Map<string, CallRow>()]
          : await Promise.all([account.rows ?? core.store.list('credits', ref), callsOf(core, together)])
      const draft = new Draft(known, calls, core.clock.now(), fresh)
      const results = draft.applyAll(together)
      if (results === 'read-again') {
        account.rows = undefined
        continue
      }
      const step = draft.step()
      // Set before the wait, so that `forget` during the step is not undone.
      account.rows = draft.after()
      if (step && !(await commit(core, step))) {
        account.rows = undefined
        continue
      }
      for (const [index, { resolve, reject }] of together.entries()) {
        const result = results[index]!
        if ('error' in result) reject(result.error)
        else resolve(result.value)
      }
      return
    }
    throw new Error(`too many writers of the credits of ${ref}`)
  }

  return {
    change<T>(ref: string, change: AccountChange<T>): Promise<T> {
      const account = accountAt(ref)
      return new Promise<T>((resolve, reject) => {
        account.waiting.push({ change, resolve: resolve as (value: unknown) => void, reject })
        if (!account.running) void run(ref, account)
      })
    },
    forget(ref) {
      const account = accounts.get(ref)
      if (account) account.rows = undefined
    },
  }
}

async function callsOf(core: Core, together: readonly Waiting[]): Promise<Map<string, CallRow>> {
  const keys = [...new Set(together.flatMap(({ change }) => change.callKey ?? []))]
  const found = keys.length === 0 ? [] : await core.store.get('calls', keys)
  return new Map(found.flatMap((row) => (row ? [[row.key, row] as const] : [])))
}

type Applied = { value: unknown } | { error: unknown }

/** One step in the making. */
class Draft {
  readonly #rows: Map<string, CreditRow>
  readonly #known: ReadonlyMap<string, CreditRow>
  readonly #calls: Map<string, CallRow>
  readonly #knownCalls: ReadonlyMap<string, CallRow>
  readonly #changed = new Set<string>()
  readonly #changedCalls = new Set<string>()
  readonly #puts: Put[] = []
  readonly #audit: AuditEntry[] = []
  readonly #now: number
  readonly #fresh: boolean

  constructor(rows: readonly CreditRow[], calls: Map<string, CallRow>, now: number, fresh: boolean) {
    this.#rows = new Map(rows.map((row) => [row.key, row]))
    this.#known = new Map(this.#rows)
    this.#calls = calls
    this.#knownCalls = new Map(calls)
    this.#now = now
    this.#fresh = fresh
  }

  applyAll(together: readonly Waiting[]): Applied[] | 'read-again' {
    const results: Applied[] = []
    for (const { change } of together) {
      const writes: Array<() => void> = []
      try {
        results.push({ value: change.apply(this.#view(change.callKey, writes)) })
        for (const write of writes) write()
      } catch (error) {
        if (error instanceof ReadAgain && !this.#fresh) return 'read-again'
        results.push({ error })
      }
    }
    return results
  }

  /** What the change writes is done once it has ended well: one that throws leaves nothing in the step of the others. */
  #view(callKey: string | undefined, writes: Array<() => void>): AccountView {
    return {
      now: this.#now,
      fresh: this.#fresh,
      rows: [...this.#rows.values()],
      call: callKey === undefined ? undefined : this.#calls.get(callKey),
      put: (rows) => void writes.push(() => this.#put(rows)),
      putCall: (row) => void writes.push(() => this.#setCall(row.key, row)),
      removeCall: () => {
        if (callKey !== undefined) writes.push(() => this.#setCall(callKey, undefined))
      },
      remove: ({ key }) =>
        void writes.push(() => {
          this.#rows.delete(key)
          this.#changed.add(key)
        }),
      also: ({ puts = [], audit = [] }) =>
        void writes.push(() => {
          this.#puts.push(...puts)
          this.#audit.push(...audit)
        }),
    }
  }

  #put(rows: readonly CreditRow[]): void {
    for (const row of rows) {
      this.#rows.set(row.key, { ...row, dueAt: dueOf(row, this.#now) })
      this.#changed.add(row.key)
    }
  }

  #setCall(key: string, row: CallRow | undefined): void {
    if (row) this.#calls.set(key, row)
    else this.#calls.delete(key)
    this.#changedCalls.add(key)
  }

  /** Undefined: nothing has changed. */
  step(): Step | undefined {
    const puts = [...this.#puts]
    const removes: NonNullable<Step['removes']> = []
    for (const key of this.#changed) {
      const row = this.#rows.get(key)
      const known = this.#known.get(key)
      const version = known?.version ?? 0
      const inPlace = known !== undefined && row?.ref === known.ref && row.dueAt === known.dueAt
      if (row) puts.push({ table: 'credits', row: { ...row, version }, inPlace })
      else if (version > 0) removes.push({ table: 'credits', key, version })
    }
    for (const key of this.#changedCalls) {
      const row = this.#calls.get(key)
      const version = this.#knownCalls.get(key)?.version ?? 0
      if (row) puts.push({ table: 'calls', row: { ...row, version } })
      else if (version > 0) removes.push({ table: 'calls', key, version })
    }
    if (puts.length + removes.length + this.#audit.length === 0) return undefined
    // A debit needs no disk: it survives the end of this process, and a power cut costs the seller the last moment's calls.
    const durability = this.#puts.length + this.#audit.length === 0 ? { durability: 'deferred' as const } : {}
    return { puts, removes, audit: this.#audit, ...durability }
  }

  /** The rows as they are stored once the step is applied. */
  after(): CreditRow[] {
    return [...this.#rows.values()].map((row) =>
      this.#changed.has(row.key)
        ? afterCommit({ ...row, version: this.#known.get(row.key)?.version ?? 0 })
        : row,
    )
  }
}
