import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CreditLog, fileCreditLog, memoryCreditLog } from './credit-log.ts'
import { ownedCredits } from './owned-credits.ts'

const payer = '0xAbC'
const origin = 'https://api.example.com'
const place = { base: `${origin}/pay`, planId: 'calls', resourceId: 'default' }
const token = (requestId: string, expiresAt: number | null = null) => ({
  token: `token of ${requestId}`,
  requestId,
  expiresAt,
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-owned-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.each<[string, () => () => CreditLog]>([
  [
    'one log in memory',
    () => {
      const log = memoryCreditLog()
      return () => log
    },
  ],
  ['one file', () => () => fileCreditLog(join(folder, 'payments', 'credits.log'))],
])('buyers that share %s', (_name, share) => {
  test('begin one purchase together, and none when somebody has bought meanwhile', async () => {
    const open = share()
    const buyers = Array.from({ length: 8 }, () => ownedCredits(open(), payer))
    const begun = await Promise.all(buyers.map((buyer, index) => buyer.begin(place, null, `r${index}`)))
    expect(new Set(begun).size).toBe(1)
    await buyers[0]!.own(place, token(begun[0]!))
    expect(await buyers[1]!.begin(place, null, 'late'), 'the need is met').toBeUndefined()
    expect(await buyers[1]!.begin(place, begun[0]!, 'next')).toBe('next')
  })

  test('know what each has bought, ended or begun; other payers and origins do not', async () => {
    const open = share()
    const one = ownedCredits(open(), payer)
    await one.own(place, token('a', 2000))
    await one.own(place, token('b', 1000))
    const other = ownedCredits(open(), payer.toLowerCase())
    expect(await other.at(origin)).toEqual([{ ...place, last: 'b', owned: token('a', 2000) }])
    await other.end(place, 'a')
    await other.begin(place, 'b', 'c')
    expect(await one.at(origin)).toEqual([{ ...place, last: 'b', pending: 'c' }])
    await one.end(place, 'c')
    expect(await other.at(origin)).toEqual([{ ...place, last: 'b' }])
    expect(await ownedCredits(open(), '0xdef').at(origin)).toEqual([])
    expect(await one.at('https://example.com')).toEqual([])
  })
})

test('a line that a power cut left unfinished is passed over; only the owner can read the file', async () => {
  const path = join(folder, 'credits.log')
  await ownedCredits(fileCreditLog(path), payer).own(place, token('a'))
  appendFileSync(path, '{"is":"owned","payer":"0xabc","ba')
  const again = ownedCredits(fileCreditLog(path), payer)
  await again.own(place, token('b'))
  expect(await again.at(origin)).toMatchObject([{ owned: { requestId: 'b' } }])
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o077).toBe(0)
})

test('a log in memory keeps its newest lines', async () => {
  const log = memoryCreditLog(2)
  for (const line of ['a', 'b', 'c']) await log.append(line)
  expect(await log.read(0)).toEqual({ lines: ['b', 'c'], next: 3 })
  expect(await log.read(2)).toEqual({ lines: ['c'], next: 3 })
})
