import type { Committed, CreditRow, HoldRow, Step, Store, TableName, Tables } from '../../../src/ports.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import type { World } from '../world.ts'
import { faultyCall, type Host } from './faulty-call.ts'
import { createLosingStore } from './losing-store.ts'
import { noteLost } from './lost-facts.ts'
import { createMeterBook, type MeterBook } from './meter-book.ts'
import { type CreditLedger, watchCredits } from './watch-credits.ts'
import { type WatchedReceipts, watchReceipts } from './watch-receipts.ts'

const TABLES: readonly TableName[] = [
  'challenges',
  'requests',
  'authorizations',
  'receipts',
  'seen',
  'refunds',
  'walletTxs',
  'outbox',
  'holds',
  'lots',
  'marks',
  'credits',
  'calls',
  'webhooks',
  'books',
]

/** The one store of a history, which survives every crash, and what happened to it. */
export interface RecordedStore {
  store: Store
  /** Virtual time of the newest claim of each authorization. */
  claimedAt: Map<string, number>
  challengeIds: Set<string>
  /** By challenge: until when its newest delivery has it for itself, whatever became of it since. */
  leasedUntil: ReadonlyMap<string, number>
  /** Deleted once. An instance with a slow clock may take such an id for a new one: nothing had happened to it. */
  forgotten: Set<string>
  signed: WatchedReceipts
  credits: CreditLedger
  meter: MeterBook
  /** How often something was written. */
  commits(): number
  /** Undoes what was committed since then; only in a history that has losses. */
  lose(sinceMs: number): Promise<void>
  /** Everything that is stored, read back from the store itself. */
  readAll<N extends TableName>(table: N): Promise<Array<Tables[N]>>
  /** Does any row still wait for a job? */
  isBusy(): boolean
}

export function createRecordedStore(world: World, mutate: (store: Store) => Store): RecordedStore {
  const losing = world.weather.losses > 0 ? createLosingStore(world.scheduler.now) : undefined
  const memory = mutate(losing?.store ?? createMemoryStore())
  const { lost } = world
  const dueAt = new Map<string, number | null>()
  const keys = new Map<TableName, Set<string>>(TABLES.map((table) => [table, new Set()]))
  const claimedAt = new Map<string, number>()
  const challengeIds = new Set<string>()
  const leasedUntil = new Map<string, number>()
  const forgotten = new Set<string>()
  const signed = watchReceipts(world)
  const credits = watchCredits(world)
  const meter = createMeterBook(world)
  let waiting = 0
  let commits = 0

  /**
   * Lots, marks, calls, rows of the sales book, events that were told, credits of which none is reserved, a released claim and a spent hold only wait to be deleted, and a refund without a key waits for the
   * operator.
   */
  function isIdle(table: TableName, row: object): boolean {
    const phase = 'phase' in row ? row.phase : undefined
    const waitsForKey = table === 'refunds' && phase === 'WAITING' && world.weather.refunds === 'no-key'
    if (table === 'lots' || table === 'marks' || table === 'calls' || table === 'books') return true
    if (table === 'webhooks') return phase !== 'WAITING'
    if (table === 'credits') return !(row as CreditRow).reserved.some(({ lapsed }) => !lapsed)
    if (table === 'holds') return (row as HoldRow).spent && !(row as HoldRow).key.startsWith('exposure:')
    return phase === 'RELEASED' || waitsForKey
  }

  function setDue(table: TableName, key: string, due: number | null | undefined): void {
    const id = `${table} ${key}`
    if ((dueAt.get(id) ?? null) !== null) waiting--
    if (due === undefined) dueAt.delete(id)
    else dueAt.set(id, due)
    if ((due ?? null) !== null) waiting++
  }

  function record({ puts, removes = [] }: Step): void {
    for (const { table, row } of puts) {
      keys.get(table)!.add(row.key)
      setDue(table, row.key, isIdle(table, row) ? null : row.dueAt)
      if (table === 'authorizations' && row.phase === 'CLAIMED') claimedAt.set(row.key, world.scheduler.now())
      if (table === 'challenges') {
        challengeIds.add(row.key)
        if (row.leaseUntil !== null) leasedUntil.set(row.key, row.leaseUntil)
      }
    }
    for (const { table, key } of removes) {
      setDue(table, key, undefined)
      if (table === 'challenges') forgotten.add(key)
    }
  }

  /** I2, I14: of all payments for one challenge, on whatever chain, one may be in flight. */
  async function checkOneInFlight({ puts }: Step): Promise<void> {
    for (const { table, row } of puts) {
      if (table !== 'authorizations' || row.phase !== 'CLAIMED' || lost.challenges.has(row.challengeId))
        continue
      const all = await memory.list('authorizations', row.challengeId)
      const live = all.filter(({ phase }) => ['CLAIMED', 'CHARGED', 'BROADCAST'].includes(phase))
      if (live.length > 1) world.violate('I14', `${row.challengeId} has ${live.length} payments in flight`)
    }
  }

  const store: Store = {
    ...memory,
    async commit(step): Promise<Committed> {
      for (const { table, row } of step.puts) {
        if (table !== 'challenges' || (row.state !== 'EXPIRED' && row.state !== 'CANCELLED')) continue
        // An instance that knows lost rows may hold a version that the store assigns a second time.
        if (lost.challenges.has(row.key)) continue
        const [before] = await memory.get('challenges', [row.key])
        if (before?.state === 'PENDING' && before.liveAuth !== null && before.version === row.version) {
          world.violate('I9', `${row.key} is ${row.state} although a payment is in flight`)
        }
      }
      // Recorded before the answer, in the same turn: nothing can come between the two.
      const result = await memory.commit(step)
      if (result.kind === 'applied') {
        commits++
        record(step)
        signed.watch(step)
        credits.watch(step)
        meter.watch(step)
        await checkOneInFlight(step)
      } else world.count('conflicts')
      return result
    },
    async takeDue(table, nowMs, untilMs, limit) {
      const rows = await memory.takeDue(table, nowMs, untilMs, limit)
      for (const row of rows) {
        if (!isIdle(table, row)) setDue(table, row.key, row.dueAt)
      }
      return rows
    },
  }
  async function readAll<N extends TableName>(table: N): Promise<Array<Tables[N]>> {
    const rows = await memory.get(table, [...keys.get(table)!])
    return rows.filter((row) => row !== undefined)
  }

  return {
    store,
    claimedAt,
    challengeIds,
    leasedUntil,
    forgotten,
    signed,
    credits,
    meter,
    commits: () => commits,
    async lose(sinceMs) {
      const undone = losing?.lose(sinceMs) ?? []
      for (const step of undone) noteLost(lost, step)
      world.count('commits lost', undone.length)
      world.note('store', () => `LOSES ${undone.map(describe).join(' | ')}`)
      dueAt.clear()
      waiting = 0
      for (const table of TABLES) {
        for (const row of await readAll(table)) {
          setDue(table, row.key, isIdle(table, row) ? null : row.dueAt)
        }
      }
    },
    isBusy: () => waiting > 0,
    readAll,
  }
}

/** The store as one instance reaches it. */
export function createStorePort(world: World, host: Host, store: Store): Store {
  const call = <T>(label: () => string, effect: () => Promise<T>): Promise<T> =>
    faultyCall(world, host, world.logging ? label() : 'store', effect)
  return {
    name: store.name,
    exclusive: world.weather.instances === 1,
    commit: (step) =>
      call(
        () => `commit ${describe(step)}`,
        () => store.commit(step),
      ),
    get: (table, keys) =>
      call(
        () => `get ${table} ${keys.length}`,
        () => store.get(table, keys),
      ),
    list: (table, ref) =>
      call(
        () => `list ${table}`,
        () => store.list(table, ref),
      ),
    takeDue: (table, nowMs, untilMs, limit) =>
      call(
        () => `takeDue ${table}`,
        () => store.takeDue(table, nowMs, untilMs, limit),
      ),
    audit: (challengeId) =>
      call(
        () => 'audit',
        () => store.audit(challengeId),
      ),
    log: (afterSeq, limit) =>
      call(
        () => 'log',
        () => store.log(afterSeq, limit),
      ),
    ping: async () => {},
    close: async () => {},
  }
}

function describe({ puts, removes = [] }: Step): string {
  const written = puts.map(({ table, row }) => {
    const state = 'state' in row ? row.state : 'phase' in row ? row.phase : ''
    return `${table}.${row.key.slice(-6)}@${row.version}${state && `=${state}`}`
  })
  return [...written, ...removes.map(({ table, key }) => `-${table}.${key.slice(-6)}`)].join(' ')
}
