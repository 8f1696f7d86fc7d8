import type { Dialect } from './driver.ts'

export interface Migration {
  id: number
  name: string
  /** The version of paystile that introduced it: an older one that cannot continue must be upgraded to it. */
  since: string
  /** Older versions can no longer use the database. A migration that only adds something is not breaking. */
  breaking: boolean
  /** Not applied when the database is opened, but when what it is for begins: see `admitSeveralNetworks`. */
  onDemand?: true
  up(dialect: Dialect): string[]
}

/** Only append to this list, and write names out: released migrations have run in someone's database. */
export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: 'first-tables', since: '0.1.0', breaking: true, up: firstTables },
  { id: 2, name: 'holds', since: '0.2.0', breaking: false, up: (dialect) => rowTable('holds', dialect) },
  { id: 3, name: 'several-networks', since: '0.3.0', breaking: true, onDemand: true, up: () => [] },
  {
    id: 4,
    name: 'lots',
    since: '0.4.0',
    breaking: false,
    up: (dialect) => [...rowTable('lots', dialect), ...rowTable('marks', dialect)],
  },
  {
    id: 5,
    name: 'credits',
    since: '0.5.0',
    breaking: false,
    up: (dialect) => [...rowTable('credits', dialect), ...rowTable('calls', dialect)],
  },
  {
    id: 6,
    name: 'webhooks',
    since: '0.6.0',
    breaking: false,
    up: (dialect) => rowTable('webhooks', dialect),
  },
  { id: 7, name: 'books', since: '0.7.0', breaking: false, up: (dialect) => rowTable('books', dialect) },
]

function firstTables(dialect: Dialect): string[] {
  const { text, counter, appendOnly } = dialect
  return [
    ...[
      'challenges',
      'requests',
      'authorizations',
      'receipts',
      'seen',
      'refunds',
      'wallet_txs',
      'outbox',
    ].flatMap((table) => rowTable(table, dialect)),
    `CREATE TABLE audit (
      seq ${counter}, at BIGINT NOT NULL, challenge_id ${text} NOT NULL, request_id TEXT NOT NULL, event TEXT NOT NULL,
      from_state TEXT, to_state TEXT, actor TEXT NOT NULL, tx_hash TEXT, details TEXT)`,
    'CREATE INDEX audit_by_challenge_id ON audit (challenge_id, seq)',
    ...appendOnly('audit', 'seq'),
  ]
}

function rowTable(table: string, { text }: Dialect): string[] {
  return [
    `CREATE TABLE ${table} (key ${text} PRIMARY KEY NOT NULL, version BIGINT NOT NULL, ref ${text}, due_at BIGINT, body TEXT NOT NULL)`,
    `CREATE INDEX ${table}_by_ref ON ${table} (ref) WHERE ref IS NOT NULL`,
    `CREATE INDEX ${table}_by_due_at ON ${table} (due_at) WHERE due_at IS NOT NULL`,
  ]
}
