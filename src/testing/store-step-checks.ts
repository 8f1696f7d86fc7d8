import assert from 'node:assert/strict'
import type { Step, Store } from '../ports.ts'
import { applied, type Checks, conflict, NOW, put, readOne } from './store-bench.ts'
import { assertIncreasing } from './store-model.ts'
import { sampleAudit, samplePut, sampleRow } from './store-rows.ts'

/** Checks of what a step changes or refuses. */
export const stepChecks: Checks = {
  async 'an insert of what exists is refused and changes nothing'({ store }) {
    await store.commit({ puts: [put('a', 0, { ref: 'first' })] })
    assert.deepEqual(await store.commit({ puts: [put('a', 0, { ref: 'second' })] }), conflict('a'))
    assert.equal((await readOne(store, 'a'))?.ref, 'first')
  },

  async 'only the version that was read can be written'({ store }) {
    assert.deepEqual(await store.commit({ puts: [put('a', 1)] }), conflict('a'))
    await store.commit({ puts: [put('a')] })
    assert.deepEqual(await store.commit({ puts: [put('a', 2)] }), conflict('a'))
    assert.deepEqual(await store.commit({ puts: [put('a', 1)] }), applied)
    assert.deepEqual(await store.commit({ puts: [put('a', 1)] }), conflict('a'))
    assert.equal((await readOne(store, 'a'))?.version, 2)
  },

  async 'the same key in two tables is two rows'({ store }) {
    assert.deepEqual(await store.commit({ puts: [put('a'), samplePut('seen', { key: 'a' })] }), applied)
    assert.deepEqual(
      await store.commit({ puts: [], removes: [{ table: 'seen', key: 'a', version: 1 }] }),
      applied,
    )
    assert.equal((await readOne(store, 'a'))?.version, 1)
  },

  async 'a step with one stale row applies nothing of itself'({ store }) {
    await store.commit({ puts: [put('a'), put('b'), put('c')] })
    const step: Step = {
      puts: [put('new'), put('a', 1, { ref: 'changed' }), put('b', 9)],
      removes: [{ table: 'requests', key: 'c', version: 1 }],
      audit: [sampleAudit('x', 'never')],
    }
    assert.deepEqual(await store.commit(step), conflict('b'))
    assert.equal(await readOne(store, 'new'), undefined)
    assert.equal((await readOne(store, 'a'))?.ref, null)
    assert.equal((await readOne(store, 'c'))?.version, 1)
    assert.deepEqual(await store.audit('x'), [])
  },

  async 'a row is removed at exactly its version, and may then be inserted anew'({ store }) {
    const remove = (version: number): Step => ({
      puts: [],
      removes: [{ table: 'requests', key: 'a', version }],
    })
    assert.deepEqual(await store.commit(remove(1)), conflict('a'))
    await store.commit({ puts: [put('a', 0, { ref: 'r', dueAt: NOW })] })
    await store.commit({ puts: [put('a', 1, { ref: 'r', dueAt: NOW })] })
    assert.deepEqual(await store.commit(remove(1)), conflict('a'))
    assert.deepEqual(await store.commit(remove(2)), applied)
    assert.equal(await readOne(store, 'a'), undefined)
    assert.deepEqual(await store.list('requests', 'r'), [])
    assert.deepEqual(await store.takeDue('requests', NOW, NOW + 1, 9), [])
    assert.deepEqual(await store.commit({ puts: [put('a')] }), applied)
  },

  async 'audit entries come back whole, in order, with growing seq, for their challenge only'({ store }) {
    const plain = sampleAudit('x', 'opened')
    const full = { ...plain, event: 'paid', txHash: '0xab', details: { a: 'é"', b: 1.5, c: true, d: null } }
    await store.commit({ puts: [put('a')], audit: [plain, full] })
    await store.commit({ puts: [], audit: [sampleAudit('y', 'opened')] })
    await store.commit({ puts: [put('a', 1)], audit: [sampleAudit('x', 'delivered')] })
    const log = await store.audit('x')
    assertIncreasing(log.map((entry) => entry.seq))
    assert.deepEqual(
      log.map(({ seq: _, ...entry }) => entry),
      [plain, full, sampleAudit('x', 'delivered')],
    )
    assert.deepEqual(await store.audit('unknown'), [])
  },

  async 'the whole log is read page by page, in the order of seq'({ store }) {
    const events = Array.from({ length: 7 }, (_, index) => `event-${index}`)
    const [last] = (await store.log(0, Number.MAX_SAFE_INTEGER)).slice(-1)
    for (const event of events) await store.commit({ puts: [], audit: [sampleAudit(`of-${event}`, event)] })
    const read: string[] = []
    let seq = last?.seq ?? 0
    for (;;) {
      const page = await store.log(seq, 3)
      if (page.length === 0) break
      assert.ok(page.length <= 3)
      assertIncreasing([seq, ...page.map((entry) => entry.seq)])
      read.push(...page.map((entry) => `${entry.challengeId} ${entry.event}`))
      seq = page.at(-1)!.seq
    }
    assert.deepEqual(
      read,
      events.map((event) => `of-${event} ${event}`),
    )
    assert.deepEqual(await store.log(seq, 0), [])
  },

  async '100 racing inserts of one key: one is applied'({ store }) {
    const race = Array.from({ length: 100 }, (_, index) => {
      return store.commit({ puts: [put('a', 0, { ref: `${index}` })], audit: [sampleAudit('x', `${index}`)] })
    })
    const winners = (await Promise.all(race)).flatMap(({ kind }, index) =>
      kind === 'applied' ? [`${index}`] : [],
    )
    assert.equal(winners.length, 1)
    assert.equal((await readOne(store, 'a'))?.ref, winners[0])
    assert.deepEqual(
      (await store.audit('x')).map((entry) => entry.event),
      winners,
    )
  },

  async '50 racers that read, write and retry each count once'({ store }) {
    await store.commit({ puts: [put('a', 0, { dueAt: 0 })] })
    const race = Array.from({ length: 50 }, async () => {
      for (;;) {
        const row = (await readOne(store, 'a'))!
        const result = await store.commit({
          puts: [{ table: 'requests', row: { ...row, dueAt: row.dueAt! + 1 } }],
        })
        if (result.kind === 'applied') return
      }
    })
    await Promise.all(race)
    const row = await readOne(store, 'a')
    assert.deepEqual([row?.dueAt, row?.version], [50, 51])
  },

  async 'later changes of the caller’s objects have no effect'({ store }) {
    const row = sampleRow('walletTxs', { key: 'w' })
    const audit = { ...sampleAudit('x', 'sent'), details: { n: 1 } }
    const commit = store.commit({ puts: [{ table: 'walletTxs', row }], audit: [audit] })
    row.members.push({ kind: 'payment', key: 'late' })
    audit.details.n = 2
    await commit
    const read = (await store.get('walletTxs', ['w']))[0]!
    assert.deepEqual(
      read.members.map(({ key }) => key),
      ['a', 'b'],
    )
    assert.deepEqual((await store.audit('x'))[0]?.details, { n: 1 })
    // A store may also give rows that cannot be changed.
    if (!Object.isFrozen(read.members)) read.members.push({ kind: 'payment', key: 'mine' })
    const again = (await store.get('walletTxs', ['w']))[0]!
    assert.deepEqual(
      again.members.map(({ key }) => key),
      ['a', 'b'],
    )
  },

  async 'a malformed step is refused as a whole, and other steps are not'({ store }) {
    const malformed: Step[] = [
      { puts: [put('ok'), put('nul\0')] },
      { puts: [put('ok'), put('half \ud83d')] },
      { puts: [put('ok'), put('ok')] },
      { puts: [put('ok'), put('a', 0.5)] },
      { puts: [put('ok'), put('a', -1)] },
      { puts: [put('ok'), put('a', 0, { dueAt: Number.NaN })] },
      { puts: [put('ok')], removes: [{ table: 'requests', key: 'a', version: 0 }] },
      { puts: [put('ok')], removes: [{ table: 'requests', key: 'ok', version: 1 }] },
    ]
    const refused = malformed.map((step) => assert.rejects(store.commit(step), TypeError))
    assert.deepEqual(await store.commit({ puts: [put('other')] }), applied)
    await Promise.all(refused)
    assert.equal(await readOne(store, 'ok'), undefined)
  },

  async 'what was answered is there after a restart'({ store, reopen }) {
    if (reopen === undefined) return
    await store.commit({ puts: [put('a', 0, { ref: 'r', dueAt: NOW })], audit: [sampleAudit('x', 'opened')] })
    await store.takeDue('requests', NOW, NOW + 60, 1)
    const before = await snapshot(store)
    const again = await reopen()
    assert.deepEqual(await snapshot(again), before)
    await again.commit({ puts: [], audit: [sampleAudit('x', 'paid')] })
    assertIncreasing((await again.audit('x')).map((entry) => entry.seq))
    await again.ping()
  },
}

async function snapshot(store: Store) {
  return [await store.get('requests', ['a']), await store.list('requests', 'r'), await store.audit('x')]
}
