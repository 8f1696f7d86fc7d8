import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fileStorage } from './file-storage.ts'
import { memoryStorage } from './memory-storage.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-storage-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const payment = (header: string) => ({
  header,
  subject: 's',
  network: 'eip155:84532',
  amount: '1',
  validBefore: '2',
})

describe.each([
  ['memory', () => memoryStorage()],
  ['file', () => fileStorage(join(folder, 'payments'))],
])('%s storage', (_name, open) => {
  test('of many claims on one key one wins, and all get the winner', async () => {
    const storage = open()
    const headers = Array.from({ length: 20 }, (_, index) => `h${index}`)
    const winners = await Promise.all(headers.map((header) => storage.claim('k', payment(header))))
    expect(new Set(winners.map(({ header }) => header)).size).toBe(1)
    expect(await storage.get('k')).toEqual(winners[0])
    expect(await storage.get('other')).toBeUndefined()
  })

  test('grants reservations up to the limit, also concurrent ones, and no longer counts released ones', async () => {
    const storage = open()
    const ids = Array.from({ length: 10 }, (_, index) => `id${index}`)
    const granted = await Promise.all(ids.map((id) => storage.reserve(id, 3n, 10n)))
    expect(granted.filter(Boolean)).toHaveLength(3)
    await storage.release(ids[granted.indexOf(true)]!)
    await storage.release('never reserved')
    expect(await storage.reserve('again', 4n, 10n)).toBe(true)
    expect(await storage.reserve('more', 1n, 10n)).toBe(false)
  })

  test('lowers what a metered payment counts for, once and never raises it', async () => {
    const storage = open()
    const [one, two] = ['permit2/one', 'permit2/two']
    expect(await storage.uncharged?.()).toEqual([])
    expect(await storage.reserve(one, 6n, 10n)).toBe(true)
    expect(await storage.reserve(two, 6n, 10n)).toBe(false)
    expect(await storage.uncharged?.()).toEqual([{ id: one, amountMicro: 6n }])
    await storage.charge?.(one, 2n)
    await storage.charge?.(one, 0n)
    await storage.charge?.('permit2/never', 1n)
    expect(await storage.uncharged?.()).toEqual([])
    expect(await storage.reserve(two, 6n, 10n)).toBe(true)
    await storage.charge?.(two, 9n)
    expect(await storage.reserve('exact', 3n, 10n)).toBe(false)
    expect(await storage.reserve('exact', 2n, 10n)).toBe(true)
    expect(await storage.uncharged?.()).toEqual([])
  })

  test('forgets only the given payment', async () => {
    const storage = open()
    await storage.claim('k', payment('a'))
    await storage.forget('k', payment('b'))
    expect(await storage.get('k')).toEqual(payment('a'))
    await storage.forget('k', payment('a'))
    expect(await storage.get('k')).toBeUndefined()
    await storage.forget('k', payment('a'))
  })
})

test('the total survives the process, is shared, and tolerates a line that a power cut left unfinished', async () => {
  const [one, two] = [fileStorage(folder), fileStorage(folder)]
  const ids = Array.from({ length: 20 }, (_, index) => `id${index}`)
  const granted = await Promise.all(ids.map((id, index) => (index % 2 ? one : two).reserve(id, 1n, 10n)))
  expect(granted.filter(Boolean).length).toBeLessThanOrEqual(10)
  const left = 10 - granted.filter(Boolean).length
  writeFileSync(join(folder, 'spent.log'), '\n+ torn 9', { flag: 'a' })
  const later = fileStorage(folder)
  for (let turn = 0; turn < left; turn++) expect(await later.reserve(`later${turn}`, 1n, 10n)).toBe(true)
  expect(await later.reserve('over', 1n, 10n)).toBe(false)
  expect(await one.reserve('over-too', 1n, 10n)).toBe(false)
})

test('files survive the process, are readable only by their owner, and leave no drafts', async () => {
  const path = join(folder, 'payments')
  await fileStorage(path).claim('../../etc/x', payment('a'))
  expect(await fileStorage(path).get('../../etc/x')).toEqual(payment('a'))
  const [place, ...others] = readdirSync(path, { recursive: true, encoding: 'utf8' })
  expect(place).toMatch(/^[0-9a-f]{64}\.json$/)
  expect(others).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.json.[0-9a-f]{64}\.json$/)])
  expect(statSync(join(path, others[0]!)).mode & 0o777).toBe(0o600)
  expect(statSync(join(path, place!)).mode & 0o777).toBe(0o700)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  await fileStorage(path).forget('../../etc/x', payment('a'))
  expect(readdirSync(path)).toEqual([])
})

/** Where the payment under a key is kept. */
const placeOf = (key: string) => join(folder, `${createHash('sha256').update(key).digest('hex')}.json`)

test('of many that forget the same payment and store another, nobody takes that of another away', async () => {
  const forgotten = new Set<string>()
  const live = new Set<string>()
  let most = 0
  let made = 0
  async function work(): Promise<void> {
    const storage = fileStorage(folder)
    for (let turn = 0; turn < 25; turn++) {
      const { header } = await storage.claim('k', payment(`h${made++}`))
      if (!forgotten.has(header)) live.add(header)
      most = Math.max(most, live.size)
      forgotten.add(header)
      live.delete(header)
      await Promise.all([1, 2, 3].map(() => storage.forget('k', payment(header))))
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  expect(most).toBe(1)
})

test('a process that was killed between two steps of forgetting leaves room for the next payment', async () => {
  mkdirSync(placeOf('k'), { recursive: true })
  const storage = fileStorage(folder)
  expect(await storage.get('k')).toBeUndefined()
  expect(await storage.claim('k', payment('a'))).toEqual(payment('a'))
  expect(await fileStorage(folder).claim('k', payment('b'))).toEqual(payment('a'))
})

test('the file of an earlier version is found, is no other payment’s to forget, and then makes room', async () => {
  writeFileSync(placeOf('k'), JSON.stringify(payment('a')))
  const storage = fileStorage(folder)
  expect(await storage.get('k')).toEqual(payment('a'))
  expect(await storage.claim('k', payment('b'))).toEqual(payment('a'))
  await storage.forget('k', payment('b'))
  expect(await storage.get('k')).toEqual(payment('a'))
  await storage.forget('k', payment('a'))
  expect(await storage.claim('k', payment('b'))).toEqual(payment('b'))
})

test('what is no payment and in its place is named, and nothing is stored', async () => {
  mkdirSync(join(placeOf('k'), 'notes'), { recursive: true })
  await expect(fileStorage(folder).claim('k', payment('a'))).rejects.toThrow(/holds something else.*not sent/)
})

test('a file that cannot be read stops the purchase: it may be a payment under way', async () => {
  const storage = fileStorage(folder)
  await storage.claim('k', payment('a'))
  writeFileSync(join(placeOf('k'), readdirSync(placeOf('k'))[0]!), '{"header"')
  await expect(storage.get('k')).rejects.toThrow()
})

test('memory is bounded', async () => {
  const storage = memoryStorage(2)
  for (const key of ['a', 'b', 'c']) await storage.claim(key, payment(key))
  expect(await storage.get('a')).toBeUndefined()
  expect(await storage.get('c')).toBeDefined()
})
