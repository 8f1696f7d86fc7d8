import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { UnavailableError } from '../../src/errors.ts'
import type { Store } from '../../src/ports.ts'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { sampleAudit, samplePut } from '../../src/testing/store-rows.ts'
import { type CutProxy, startCutProxy } from './cut-proxy.ts'

/** A little more than the store's own patience of 5 s: the machine may be busy. */
const PATIENCE_MS = 9_000

/** As it is sent; BEGIN speaks of COMMITTED reads. */
const COMMIT = 'COMMIT\0'

let server: PostgresServer
let proxy: CutProxy
let store: Store
let schemas = 0

beforeAll(async () => {
  server = await startPostgres()
  proxy = await startCutProxy(server.port)
})
afterAll(async () => {
  await proxy.close()
  await server.stop()
})
beforeEach(async () => {
  schemas += 1
  const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`)
  store = await openPostgresStore({ url, schema: `fault_${schemas}` })
})
afterEach(async () => {
  proxy.delayMs = 0
  proxy.cutAt('never sent', 'before')
  proxy.cutAfterBytes(undefined)
  await store.close()
})

const stepOf = (key: string, version = 0) => ({
  puts: [samplePut('authorizations', { key, version }), samplePut('outbox', { key, version })],
  audit: [sampleAudit(key, `v${version}`)],
})

/** What became of it, and that it became something in time. */
async function outcome(work: Promise<{ kind: string }>): Promise<string> {
  const startedMs = performance.now()
  const kind = await work.then(
    (result) => result.kind,
    (error: unknown) => {
      expect(error).toBeInstanceOf(UnavailableError)
      return 'unavailable'
    },
  )
  expect(performance.now() - startedMs).toBeLessThan(PATIENCE_MS)
  return kind
}

/** What is in the database: all of a step or nothing, never a part. */
async function stored(key: string): Promise<boolean> {
  const [[claim], [entry], log] = await Promise.all([
    store.get('authorizations', [key]),
    store.get('outbox', [key]),
    store.audit(key),
  ])
  expect([claim?.version, log.length]).toEqual([entry?.version, claim?.version ?? 0])
  return claim !== undefined
}

async function reachable(): Promise<void> {
  const alive = () =>
    store.ping().then(
      () => true,
      () => false,
    )
  await expect.poll(alive, { interval: 20 }).toBe(true)
}

describe('a connection that is cut', () => {
  test('after COMMIT was sent: unavailable, and reading again tells that it is there', async () => {
    proxy.cutAt(COMMIT, 'after')
    expect(await outcome(store.commit(stepOf('a')))).toBe('unavailable')
    expect(await stored('a')).toBe(true)
    expect(await outcome(store.commit(stepOf('a')))).toBe('conflict')
  })

  test('before COMMIT reached the server: unavailable, and reading again tells that it is not there', async () => {
    proxy.cutAt(COMMIT, 'before')
    expect(await outcome(store.commit(stepOf('a')))).toBe('unavailable')
    expect(await stored('a')).toBe(false)
    expect(await outcome(store.commit(stepOf('a')))).toBe('applied')
  })

  test('in mid-transaction: nothing of it is ever sent on the next connection', async () => {
    for (const sent of ['BEGIN', 'FOR UPDATE', 'authorizations', 'audit', COMMIT]) {
      for (const when of ['before', 'after'] as const) {
        const key = `${sent.replace('\0', '')} ${when}`
        proxy.cutAt(sent, when)
        const kind = await outcome(store.commit(stepOf(key)))
        proxy.cutAt('never sent', 'before')
        // A statement that is prepared already is sent without its text: then nothing was cut.
        expect(await stored(key), key).toBe(kind === 'applied' || (sent === COMMIT && when === 'after'))
      }
    }
  })

  test('in takeDue: rows that were taken without an answer are due again later, and are not lost', async () => {
    await store.commit({ puts: [samplePut('outbox', { key: 'a', dueAt: 5 })] })
    proxy.cutAt(COMMIT, 'after')
    await expect(store.takeDue('outbox', 5, 9, 1)).rejects.toThrow(UnavailableError)
    expect(await store.takeDue('outbox', 5, 9, 1)).toEqual([])
    expect(await store.takeDue('outbox', 9, 20, 1)).toMatchObject([{ key: 'a', version: 3 }])
  })

  test('anywhere: 150 commits over a wire that keeps breaking are each whole or absent', async () => {
    let bytes = 900
    proxy.cutAfterBytes(() => {
      bytes = 900 + ((bytes * 48_271) % 9_000)
      return bytes
    })
    const kinds: string[] = []
    const turns = Array.from({ length: 150 }, (_, index) => `turn-${index}`)
    for (let first = 0; first < turns.length; first += 5) {
      const some = turns.slice(first, first + 5)
      kinds.push(...(await Promise.all(some.map((key) => outcome(store.commit(stepOf(key)))))))
    }
    proxy.cutAfterBytes(undefined)
    await reachable()
    for (const [index, key] of turns.entries()) {
      const there = await stored(key)
      if (kinds[index] === 'applied') expect(there, key).toBe(true)
    }
    expect(kinds).toContain('applied')
    expect(kinds).toContain('unavailable')
    expect(kinds).not.toContain('conflict')
  })
})

describe('a server', () => {
  test('that answers slowly (0.4 s each time) is waited for', async () => {
    await store.commit(stepOf('first'))
    proxy.delayMs = 400
    expect(await outcome(store.commit(stepOf('slow')))).toBe('applied')
  })

  test('that answers too slowly (2 s each time) is unavailable within the deadline, and useful again after', async () => {
    await store.ping()
    proxy.delayMs = 2_000
    expect(await Promise.all(['a', 'b'].map((key) => outcome(store.commit(stepOf(key)))))).toEqual([
      'unavailable',
      'unavailable',
    ])
    proxy.delayMs = 0
    expect(await outcome(store.commit(stepOf('c')))).toBe('applied')
    expect([await stored('a'), await stored('b')]).toEqual([await stored('b'), await stored('a')])
  })

  test('that hangs: every call is unavailable within the deadline, and it recovers automatically', async () => {
    await store.commit(stepOf('before'))
    server.freeze()
    const early = [
      store.commit(stepOf('a')),
      ...[1, 2, 3].map(() => store.ping().then(() => ({ kind: 'pong' }))),
    ]
    const late = sleep(2_000).then(() => outcome(store.commit(stepOf('b'))))
    expect(await Promise.all([...early.map(outcome), late])).toEqual(Array(5).fill('unavailable'))
    expect(await outcome(store.get('outbox', ['before']).then(() => ({ kind: 'read' })))).toBe('unavailable')
    server.thaw()
    await reachable()
    expect(await outcome(store.commit(stepOf('c')))).toBe('applied')
    expect(await stored('before')).toBe(true)
    await stored('a')
    await stored('b')
  })

  test('that is killed and started again in mid-flight: what was answered is true, the rest is whole or absent', async () => {
    const applied: string[] = []
    const unknown: string[] = []
    let counted = 0
    let uncertain = 0
    let stopped = false
    await store.commit(stepOf('counter'))
    const writer = async (name: string) => {
      for (let turn = 0; !stopped; turn++) {
        const key = `${name}-${turn}`
        const kind = await outcome(store.commit(stepOf(key)))
        expect(kind).not.toBe('conflict')
        if (kind === 'applied') applied.push(key)
        else {
          unknown.push(key)
          await sleep(20)
        }
      }
    }
    const counter = async () => {
      while (!stopped) {
        const read = await store.get('authorizations', ['counter']).catch(() => undefined)
        const version = read?.[0]?.version
        if (version === undefined) {
          await sleep(20)
          continue
        }
        const kind = await outcome(store.commit(stepOf('counter', version)))
        if (kind === 'applied') counted += 1
        if (kind === 'unavailable') uncertain += 1
      }
    }
    const work = [...['a', 'b', 'c', 'd', 'e', 'f'].map(writer), counter(), counter()]
    for (let turn = 0; turn < 3; turn++) {
      const before = applied.length
      await expect.poll(() => applied.length, { timeout: 60_000 }).toBeGreaterThan(before + 50)
      await server.kill()
      await server.restart()
      await reachable()
    }
    stopped = true
    await Promise.all(work)
    await reachable()

    const there = await Promise.all(applied.map(stored))
    expect(applied.filter((_, index) => !there[index])).toEqual([])
    await Promise.all(unknown.map(stored))
    expect(unknown.length).toBeGreaterThan(0)
    const [row] = await store.get('authorizations', ['counter'])
    const increments = row!.version - 1
    expect(increments).toBeGreaterThanOrEqual(counted)
    expect(increments).toBeLessThanOrEqual(counted + uncertain)
    const log = await store.audit('counter')
    expect(log.map(({ event }) => event)).toEqual(
      Array.from({ length: row!.version }, (_, version) => `v${version}`),
    )
  })

  test('that ends our idle connections is used again without an error', async () => {
    await Promise.all(Array.from({ length: 8 }, () => store.ping()))
    await server.restart()
    await sleep(100)
    expect(await outcome(store.commit(stepOf('a')))).toBe('applied')
  })
})
