import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { judge } from '../bench/bars.ts'
import type { Cell } from '../bench/cells.ts'
import { chartOf } from '../bench/chart.ts'
import { PREPAID, type PrepaidCells } from '../bench/prepaid-bars.ts'
import { barLines, docsSection, plainTable, tableOf } from '../bench/report.ts'
import type { Results } from '../bench/results.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const results: Results = JSON.parse(read('../bench/results.json'))

describe('the benchmark', () => {
  test('page and chart show the run that bench/results.json holds', () => {
    expect(read('../docs/benchmark.md')).toContain(docsSection(results))
    expect(read('../docs/benchmark.svg')).toBe(chartOf(results))
  })

  test('a table has as many cells in every row', () => {
    const rows = tableOf(results)
    expect(new Set(rows.map((row) => row.length)).size).toBe(1)
    expect(plainTable(rows).split('\n')).toHaveLength(rows.length)
  })

  test('a slower gateway, a failure or a growing process fails its bar', () => {
    const failing = (change: (copy: Results) => void) => {
      const copy = structuredClone(good)
      change(copy)
      return judge(copy)
        .filter(({ pass }) => !pass)
        .map(({ text }) => text)
    }
    expect(failing(() => {})).toEqual([])
    const plans = 'paystile, plans, embedded, 64 at once, automine'
    expect(failing(({ unpaid }) => Object.assign(unpaid.paystile!, { perSecond: 1 }))).toHaveLength(2)
    expect(failing(({ paid }) => Object.assign(paid[plans]!, { failed: 1 }))).toEqual([
      'failures at that load: none',
    ])
    expect(failing(({ paid }) => Object.assign(paid[plans]!, { cpuMsEach: 0.16 }))).toEqual([
      "CPU of a paid plan, 64 at once, of the peer's: at most 0.15×",
    ])
    expect(failing(({ paid }) => Object.assign(paid[crowd]!, { gasEach: 66 }))).toHaveLength(1)
    expect(failing(({ paid }) => Object.assign(paid[plans]!, { callsEach: 2.6 }))).toEqual([
      'calls to the RPC per purchase, 64 at once: at most 2.5',
    ])
    const alone = 'paystile, plans, embedded, 1 at once, automine'
    expect(failing(({ paid }) => Object.assign(paid[alone]!, { callsEach: 15.1 }))).toEqual([
      'calls to the RPC per purchase, alone: at most 15',
    ])
    const lone = (ownP50Ms: number, peerMs: number) =>
      failing(({ overhead }) => {
        overhead.embedded.ownP50Ms = ownP50Ms
        for (const other of [overhead.plan, overhead.call]) other.ownP50Ms = 4
        overhead.peer.ownP50Ms = peerMs
      })
    expect(lone(5.3, 10.5)).toEqual([
      "payPerRequest in Express beside the chain, one at a time, p50: at most 5 ms, or 0.5× of the kindest peer's",
    ])
    expect([lone(5.3, 10.7), lone(5, 8)], 'one of the two is enough').toEqual([[], []])
    expect(failing(({ stored }) => Object.assign(stored.many, { perSecond: 84 }))).toHaveLength(1)
    const further = ({ unpaid }: Results, perSecond: number) =>
      Object.assign(unpaid['paystile, 6 networks']!, { perSecond })
    expect(failing((copy) => further(copy, 340))).toEqual([
      'each of five further networks costs a 402: at most 15%',
    ])
    expect(failing(({ secondNetwork }) => Object.assign(secondNetwork!.two, { perSecond: 860 }))).toEqual([
      'paid plans/s with a second network, of those with one: at least 0.97×',
    ])
    const prepaid = ({ prepaid }: Results, name: keyof PrepaidCells, change: Partial<Cell>) =>
      Object.assign(prepaid![name], change)
    expect(failing((copy) => prepaid(copy, PREPAID.redis, { perSecond: 2499 }))).toEqual([
      "prepaid calls/s, 64 at once, Redis, of the bare proxy's: at least 0.25×",
    ])
    expect(failing((copy) => prepaid(copy, PREPAID.accounts, { failed: 1 }))).toEqual([
      'prepaid calls/s with 10,000 accounts, of those with one: at least 0.5×',
    ])
    expect(failing((copy) => prepaid(copy, PREPAID.embeddedAlone, { p50Ms: 2.1 }))).toHaveLength(1)
    expect(failing(({ flood }) => Object.assign(flood!, { diskGrowthBytes: 1 }))).toHaveLength(1)
  })

  test('a goal beyond a promise is reached or missed, and a missed one fails nothing', () => {
    const linesOf = (perSecond: number) => {
      const copy = structuredClone(good)
      Object.assign(copy.prepaid![PREPAID.accounts], { perSecond })
      return barLines(judge(copy)).split('\n')
    }
    const line = (verdict: string, measured: string, goal: string) =>
      `${verdict}  prepaid calls/s with 10,000 accounts, of those with one: at least 0.5× (measured ${measured}; goal 0.9×: ${goal})`
    expect(linesOf(3600)).toContain(line('pass', '0.90×', 'reached'))
    expect(linesOf(3599)).toContain(line('pass', '0.90×', 'missed'))
    expect(linesOf(1999)).toContain(line('FAIL', '0.50×', 'missed'))
    expect(linesOf(3600).filter((text) => text.includes('goal'))).not.toHaveLength(linesOf(3600).length)
  })
})

const crowd = 'paystile, plans, embedded, 256 at once, 2 s blocks'

/** A run in which every promise is kept. */
const good: Results = (() => {
  const cell = (perSecond: number, gasEach = 100, callsEach = 2.5) => ({
    ...{ perSecond, ok: 100, failed: 0, reasons: {}, p50Ms: 10, p99Ms: 20, maxMs: 5000 },
    ...{ cpuMsEach: 1, rssMiB: 100, gasEach, callsEach },
  })
  const overhead = () => ({
    ...{ totalP50Ms: 10, chainP50Ms: 6, bareP50Ms: 0, ownP50Ms: 4, ownP99Ms: 8, failed: 0 },
  })
  const ours = (store: string) => `paystile, plans, ${store}, 64 at once, automine`
  return {
    at: '2030-01-01T00:00:00.000Z',
    machine: 'a machine',
    unpaid: {
      paystile: cell(600),
      'paystile, 2 networks': cell(550),
      'paystile, 6 networks': cell(400),
      '@x402/express': cell(200),
      'bare node:http': cell(1000),
    },
    paid: {
      [ours('embedded')]: { ...cell(900, 60), cpuMsEach: 0.1 },
      [ours('redis')]: cell(500),
      [ours('postgres')]: cell(500),
      'peer, kindest form, calls, 64 at once, automine': cell(100),
      [crowd]: cell(100, 60),
      'paystile, plans, embedded, 1 at once, automine': cell(10, 80, 15),
      'peer, kindest form, calls, 256 at once, 2 s blocks': cell(10),
    },
    overhead: {
      plan: overhead(),
      call: overhead(),
      embedded: overhead(),
      peer: { ...overhead(), ownP50Ms: 16 },
    },
    secondNetwork: { one: cell(900), two: cell(890) },
    stored: { storedTermsPerSecond: 1000, few: cell(100), many: cell(90) },
    prepaid: {
      [PREPAID.bare]: cell(10_000),
      [PREPAID.embedded]: cell(4000),
      [PREPAID.accounts]: cell(3900),
      [PREPAID.redis]: cell(2500),
      [PREPAID.postgres]: cell(2500),
      [PREPAID.bareAlone]: { ...cell(1000), p50Ms: 0.5 },
      [PREPAID.embeddedAlone]: { ...cell(500), p50Ms: 2 },
    },
    flood: { requests: 1_000_000, failed: 0, perSecond: 1000, rssGrowthMiB: 10, diskGrowthBytes: 0 },
  }
})()
