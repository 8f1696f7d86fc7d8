import assert from 'node:assert/strict'
import type { CreditRow, Step, Store } from '../ports.ts'
import { applied, type Checks, NOW } from './store-bench.ts'
import { sampleAudit, sampleRow } from './store-rows.ts'

const ACCOUNT = '0xa1/basic/default'

const lot = (key: string, more: Partial<CreditRow> = {}): CreditRow => ({
  ...sampleRow('credits', { key, ref: ACCOUNT, dueAt: NOW }),
  granted: 50,
  spent: 0,
  reserved: [],
  ...more,
})

async function readLot(store: Store, key: string): Promise<CreditRow> {
  return (await store.get('credits', [key]))[0]!
}

/** Checks of what credit accounts rely on: one step over two tables, and many writers of one row. */
export const creditChecks: Checks = {
  async 'a debit and its call are one step, over two tables and with removes'({ store }) {
    const call = sampleRow('calls', { key: 'call', ref: ACCOUNT, dueAt: NOW })
    await store.commit({ puts: [{ table: 'credits', row: lot('a') }] })
    const open: Step = {
      puts: [
        { table: 'credits', row: lot('a', { version: 1, reserved: [{ id: 'r', credits: 2, until: NOW }] }) },
        { table: 'calls', row: call },
      ],
      durability: 'deferred',
    }
    assert.deepEqual(await store.commit(open), applied)
    // The call is not new any more: neither part is applied.
    const again: Step = {
      puts: [
        { table: 'credits', row: lot('a', { version: 2, spent: 9 }) },
        { table: 'calls', row: call },
      ],
    }
    assert.deepEqual(await store.commit(again), { kind: 'conflict', table: 'calls', key: 'call' })
    const held = await readLot(store, 'a')
    assert.deepEqual([held.version, held.spent, held.reserved.length], [2, 0, 1])
    const failed: Step = {
      puts: [{ table: 'credits', row: { ...held, reserved: [] } }],
      removes: [{ table: 'calls', key: 'call', version: 1 }],
      durability: 'deferred',
    }
    assert.deepEqual(await store.commit(failed), applied)
    assert.deepEqual(await store.get('calls', ['call']), [undefined])
    assert.deepEqual(await store.list('calls', ACCOUNT), [])
    // Once it is removed, the same name may be used again.
    assert.deepEqual(await store.commit({ puts: [{ table: 'calls', row: call }] }), applied)
  },

  async 'a purchase ends with its line in the log, or not at all'({ store }) {
    await store.commit({ puts: [{ table: 'credits', row: lot('a') }] })
    const end = (version: number): Step => ({
      puts: [],
      removes: [{ table: 'credits', key: 'a', version }],
      audit: [sampleAudit('a', 'credits-ended')],
    })
    assert.deepEqual(await store.commit(end(2)), { kind: 'conflict', table: 'credits', key: 'a' })
    assert.deepEqual(await store.audit('a'), [])
    assert.deepEqual(await store.commit(end(1)), applied)
    assert.equal((await store.audit('a')).length, 1)
    assert.deepEqual(await store.list('credits', ACCOUNT), [])
  },

  async 'an account that is listed after a commit shows it, and a job’s look gives it a new version'({
    store,
  }) {
    for (const key of ['b', 'a', 'c']) {
      await store.commit({ puts: [{ table: 'credits', row: lot(key) }], durability: 'deferred' })
      assert.ok((await store.list('credits', ACCOUNT)).some((row) => row.key === key))
    }
    const listed = await store.list('credits', ACCOUNT)
    assert.deepEqual(
      listed.map(({ key, version }) => `${key}${version}`),
      ['a1', 'b1', 'c1'],
    )
    await store.takeDue('credits', NOW, NOW + 60, 1)
    const [first] = await store.list('credits', ACCOUNT)
    assert.equal(first!.version, 2)
    const stale: Step = { puts: [{ table: 'credits', row: lot('a', { version: 1, spent: 1 }) }] }
    assert.equal((await store.commit(stale)).kind, 'conflict')
  },

  async '100 calls at once on 50 credits, each of them a step of its own: 50 are debited'({ store }) {
    await store.commit({ puts: [{ table: 'credits', row: lot('a') }] })
    async function debit(name: string): Promise<boolean> {
      for (;;) {
        const [row] = await store.list('credits', ACCOUNT)
        if (row!.spent >= row!.granted) return false
        const call = { ...sampleRow('calls', { key: name, ref: ACCOUNT }), done: true }
        const step: Step = {
          puts: [
            { table: 'credits', row: { ...row!, spent: row!.spent + 1 } },
            { table: 'calls', row: call },
          ],
          durability: 'deferred',
        }
        if ((await store.commit(step)).kind === 'applied') return true
      }
    }
    const served = await Promise.all(Array.from({ length: 100 }, (_, index) => debit(`call-${index}`)))
    assert.equal(served.filter(Boolean).length, 50)
    const row = await readLot(store, 'a')
    assert.deepEqual([row.spent, row.version], [50, 51])
    assert.equal((await store.list('calls', ACCOUNT)).length, 50)
  },

  async 'a debit is there after a restart'({ store, reopen }) {
    if (reopen === undefined) return
    const held = [{ id: 'r', credits: 2, until: NOW, lapsed: true as const }]
    await store.commit({ puts: [{ table: 'credits', row: lot('a', { ended: 'lost', reserved: held }) }] })
    await store.commit({
      puts: [{ table: 'credits', row: lot('a', { version: 1, spent: 7, ended: 'lost', reserved: held }) }],
      durability: 'deferred',
    })
    const again = await reopen()
    const { spent, ended, reserved } = await readLot(again, 'a')
    assert.deepEqual([spent, ended, reserved], [7, 'lost', held])
  },
}
