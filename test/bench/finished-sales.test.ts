import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillSales } from '../../bench/fill-sales.ts'
import { runLoad } from '../../bench/load.ts'
import { buy, preparePayments } from '../../bench/payments.ts'
import { sellerOf, startOurs } from '../../bench/targets.ts'
import { copySqliteInUse } from '../../src/stores/sql/copy-in-use.ts'
import { TABLE_NAMES } from '../../src/stores/sql/queries.ts'
import { startDevChain } from '../../src/testing/dev-chain.ts'
import { eventually } from '../e2e/world.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paystile-finished-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What kind of value it is: the same for two rows that differ only in whose sale it was, and when. */
function kindOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((one) => JSON.stringify(kindOf(one))))]
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(fields.map(([name, field]) => [name, kindOf(field)]))
  }
  if (typeof value === 'number') return 'number'
  if (typeof value !== 'string') return value
  if (value.startsWith('{')) return kindOf(JSON.parse(value))
  return (
    value
      // Random text first: it may look like hex.
      .replace(/(http|req)-[\w-]{22,}/g, '<$1 id>')
      .replace(/[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/g, '<jws>')
      .replace(/0x[0-9a-f]+/g, (hex) => (hex.length > 150 ? '<bytes>' : `<${hex.length} of hex>`))
      .replace(/\b[0-9a-f]{64}\b/g, '<digest>')
      .replace(/[\w-]{60,}/g, '<base64>')
      .replace(/[0-9]+/g, '#')
  )
}

/** The kinds of rows of each table, and what the log says of a sale. */
function kindsIn(dataDir: string) {
  const database = new Database(join(dataDir, 'paystile.db'), { readonly: true })
  const all = (sql: string) => database.prepare(sql).all([]) as Array<Record<string, unknown>>
  const distinct = (rows: unknown[]) => [...new Set(rows.map((row) => JSON.stringify(kindOf(row))))].sort()
  const tables = Object.values(TABLE_NAMES)
    // How far something was read, and the sums: they are not of a sale.
    .filter((table) => table !== 'marks' && table !== 'books')
    .map((table) => [table, distinct(all(`SELECT key, ref, due_at, body FROM ${table}`))] as const)
  const entries = all('SELECT * FROM audit ORDER BY seq')
  const ids = [...new Set(entries.map(({ challenge_id }) => challenge_id))]
  const logs = ids.map((id) => entries.filter(({ challenge_id }) => challenge_id === id))
  const log = [
    ...new Set(logs.map((one) => one.map((entry) => JSON.stringify(kindOf(entry))).join('\n'))),
  ].sort()
  database.close()
  return { ...Object.fromEntries(tables), log }
}

/** Nothing about any sale is left to do; the lots of access that runs only wait for its end. */
function isOver(dataDir: string): boolean {
  const copy = join(folder, 'copy.db')
  copySqliteInUse(join(dataDir, 'paystile.db'), copy)
  const database = new Database(copy)
  const waiting = ['challenges', 'authorizations', 'receipts', 'wallet_txs', 'outbox'].map((table) => {
    const { count } = database
      .prepare(`SELECT count(*) AS count FROM ${table} WHERE due_at IS NOT NULL`)
      .get([]) as { count: number }
    return count
  })
  database.close()
  return waiting.every((count) => count === 0)
}

async function boughtIn(dataDir: string): Promise<void> {
  const chain = await startDevChain()
  const target = await startOurs({ chain, root, dataDir })
  try {
    const payments = await preparePayments(chain, sellerOf(chain), 24, 24)
    const load = await runLoad(target.url, 12, { count: 24 }, (connection, index) =>
      buy(connection, target.asking, payments[index]!),
    )
    expect(load).toMatchObject({ ok: 24, failed: 0 })
    await chain.mine(4)
    await eventually(() => isOver(dataDir))
  } finally {
    await target.stop()
    await chain.stop()
  }
}

test('a seeded sale leaves the same kinds of rows and log entries as a bought one', async () => {
  const [bought, seeded] = [join(folder, 'bought'), join(folder, 'seeded')]
  await boughtIn(bought)
  await fillSales({ kind: 'embedded', dataDir: seeded }, 60)
  expect(kindsIn(seeded)).toEqual(kindsIn(bought))
})
