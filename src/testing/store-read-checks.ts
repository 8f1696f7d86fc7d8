import assert from 'node:assert/strict'
import { applied, type Checks, conflict, NOW, put, readOne } from './store-bench.ts'
import { ALL_TABLES, samplePut, sampleRow } from './store-rows.ts'

/** Checks of reading, and of taking due rows. */
export const readChecks: Checks = {
  async 'a row of every table comes back as it was put, one version on'({ store }) {
    for (const table of ALL_TABLES) {
      const row = sampleRow(table, { key: `${table}-1`, ref: 'challenge-1', dueAt: NOW })
      assert.deepEqual(await store.commit({ puts: [samplePut(table, row)] }), applied)
      const stored = { ...row, version: 1 }
      assert.deepEqual(await store.get(table, [row.key]), [stored])
      assert.deepEqual(await store.list(table, 'challenge-1'), [stored])
    }
  },

  async 'get answers in the order asked, with gaps and repeats'({ store }) {
    await store.commit({ puts: [put('a'), put('b')] })
    const keys = async (asked: string[]) => (await store.get('requests', asked)).map((row) => row?.key)
    assert.deepEqual(await keys(['b', 'absent', 'a', 'b']), ['b', undefined, 'a', 'b'])
    assert.deepEqual(await keys([]), [])
  },

  async 'thousands of keys and rows in one call'({ store }) {
    const names = Array.from({ length: 2500 }, (_, index) => `row-${String(index).padStart(4, '0')}`)
    await store.commit({ puts: names.map((key) => put(key, 0, { ref: 'all', dueAt: NOW })) })
    const asked = Array.from({ length: 40_000 }, (_, index) => `row-${String(index).padStart(4, '0')}`)
    assert.equal((await store.get('requests', asked)).filter((row) => row !== undefined).length, names.length)
    assert.deepEqual(
      (await store.list('requests', 'all')).map((row) => row.key),
      names,
    )
    assert.equal((await store.takeDue('requests', NOW, NOW + 1, 5000)).length, names.length)
  },

  async 'a read beside a commit sees all of it or nothing'({ store }) {
    const commit = store.commit({ puts: [put('a'), put('b')] })
    const seen = (await store.get('requests', ['a', 'b'])).filter((row) => row !== undefined).length
    assert.ok(seen === 0 || seen === 2, `${seen} of 2 rows`)
    await commit
  },

  async 'list follows the ref, in the order of keys'({ store }) {
    const listed = async (ref: string) => (await store.list('requests', ref)).map((row) => row.key)
    await store.commit({ puts: ['b', 'a', '😀', '\uffee', 'B'].map((key) => put(key, 0, { ref: 'r' })) })
    await store.commit({ puts: [put('other', 0, { ref: 'R' }), put('none')] })
    assert.deepEqual(await listed('r'), ['B', 'a', 'b', '\uffee', '😀'])
    await store.commit({ puts: [put('a', 1, { ref: 's' }), put('b', 1), put('none', 1, { ref: 'r' })] })
    assert.deepEqual(await listed('r'), ['B', 'none', '\uffee', '😀'])
    assert.deepEqual(await listed('s'), ['a'])
  },

  async 'takeDue takes the oldest first, up to the limit, and postpones them'({ store }) {
    const dueAt = { late: NOW - 1, oldest: NOW - 9, exact: NOW, later: NOW + 1, tie: NOW - 1 }
    const puts = Object.entries(dueAt).map(([key, at]) => put(key, 0, { dueAt: at, ref: 'r' }))
    await store.commit({ puts: [...puts, put('never')] })
    const take = async (limit: number, now = NOW) => await store.takeDue('requests', now, NOW + 60, limit)
    assert.deepEqual(await take(0), [])
    assert.deepEqual(
      (await take(3)).map((row) => row.key),
      ['oldest', 'late', 'tie'],
    )
    const exact = await take(9)
    assert.deepEqual(exact, [
      { ...sampleRow('requests', { key: 'exact', ref: 'r', dueAt: NOW + 60 }), version: 2 },
    ])
    assert.deepEqual(await store.get('requests', ['exact']), exact)
    assert.deepEqual(await take(9), [])
    const last = await take(9, Number.MAX_SAFE_INTEGER)
    assert.deepEqual(
      last.map((row) => row.key),
      ['later', 'exact', 'late', 'oldest', 'tie'],
    )
  },

  async 'listDue reads the rows that are due at any time, the oldest first, and changes nothing'({ store }) {
    // Optional in a store.
    if (!store.listDue) return
    const dueAt = { late: NOW - 1, oldest: NOW - 9, later: NOW + 1_000_000, tie: NOW - 1 }
    await store.commit({ puts: Object.entries(dueAt).map(([key, at]) => put(key, 0, { dueAt: at })) })
    await store.commit({ puts: [put('never'), put('done', 0, { dueAt: NOW })] })
    await store.commit({ puts: [put('done', 1)] })
    const keys = async (offset: number, limit: number) =>
      (await store.listDue!('requests', offset, limit)).map(({ key }) => key)
    assert.deepEqual(await keys(0, 10), ['oldest', 'late', 'tie', 'later'])
    assert.deepEqual(await keys(1, 2), ['late', 'tie'])
    assert.deepEqual(await keys(4, 10), [])
    assert.deepEqual(await keys(0, 0), [])
    assert.deepEqual(await store.listDue('challenges', 0, 10), [])
    const [first] = await store.listDue('requests', 0, 1)
    assert.deepEqual(await store.get('requests', ['oldest']), [first])
    assert.equal(first?.version, 1)
  },

  async 'an earlier holder of a row can no longer write it after takeDue'({ store }) {
    await store.commit({ puts: [put('a', 0, { dueAt: NOW })] })
    const held = (await readOne(store, 'a'))!
    const [taken] = await store.takeDue('requests', NOW, NOW + 60, 1)
    assert.deepEqual(await store.commit({ puts: [{ table: 'requests', row: held }] }), conflict('a'))
    assert.deepEqual(await store.commit({ puts: [{ table: 'requests', row: taken! }] }), applied)
  },

  async 'concurrent takeDue never give one row twice'({ store }) {
    await store.commit({
      puts: Array.from({ length: 60 }, (_, index) => put(`row-${index}`, 0, { dueAt: NOW })),
    })
    const takers = Array.from({ length: 20 }, () => store.takeDue('requests', NOW, NOW + 60, 5))
    const taken = (await Promise.all(takers)).flat().map((row) => row.key)
    assert.equal(new Set(taken).size, taken.length)
    const rest = await store.takeDue('requests', NOW, NOW + 60, 60)
    assert.equal(new Set([...taken, ...rest.map((row) => row.key)]).size, 60)
  },

  async 'big bodies, odd text and odd keys survive'({ store }) {
    const texts = ['', ' ', '\0', '\ud800', 'é', 'e\u0301', '😀', '"\'\\\n%_?$1', 'x'.repeat(2 ** 20)]
    for (const text of texts) {
      const row = {
        ...sampleRow('seen', { key: `text of ${text.length}: ${JSON.stringify(text).slice(0, 99)}` }),
        receipt: text,
      }
      await store.commit({ puts: [{ table: 'seen', row }] })
      assert.equal((await store.get('seen', [row.key]))[0]?.receipt, text)
    }
    const keys = [
      '',
      ' ',
      'a',
      'A',
      'a ',
      'é',
      'e\u0301',
      '😀',
      "'; DROP TABLE seen; --",
      '"',
      '\\',
      '%',
      '?',
      '{a}',
      '\n',
    ]
    await store.commit({ puts: keys.map((key) => put(key, 0, { ref: key })) })
    assert.deepEqual(
      (await store.get('requests', keys)).map((row) => row?.key),
      keys,
    )
    for (const key of keys)
      assert.deepEqual(
        (await store.list('requests', key)).map((row) => row.key),
        [key],
      )
  },
}
