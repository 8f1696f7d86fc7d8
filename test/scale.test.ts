import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fitBatchGas, gasLimitOf, largestBatch, paymentsPerBlock } from '../bench/scale/block-gas.ts'
import { carriedBy, instancesPerStore, networkCapacities, refusesFullBatch } from '../bench/scale/capacity.ts'
import { checkInstances, checkWallets, predictWallets } from '../bench/scale/checks.ts'
import type { WalletsCell } from '../bench/scale/measure-wallets.ts'
import { docsSection } from '../bench/scale/report.ts'
import { loadsOf, predictBinding, predictEach, type Taken, unitCostsOf } from '../bench/scale/unit-costs.ts'
import { fullTransactionGas } from '../src/chain/gas-limits.ts'
import { createGasWallet } from '../src/settlement/gas-wallet.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

/** 100 units by one instance in 10 s: 4 ms each, and 1 ms a second for nothing; the store takes a quarter. */
const taken = (change: Partial<Taken> = {}): Taken => ({
  ...{ units: 100, instances: 1, seconds: 10, instanceCpuMs: 410, storeCpuMs: 110, statements: 320 },
  ...{ writes: 50, walBytes: 1000, rowBytes: 500, rpcCalls: 133 },
  ...{ chainCpuMs: 100, restCpuMs: 50, diskMs: 20, machineCpuMs: 700, ...change },
})
const idle = taken({ units: 0, instanceCpuMs: 10, storeCpuMs: 10, statements: 20, writes: 0, walBytes: 0 })
const one = { busy: taken(), idle }

describe('unit costs', () => {
  test('a unit costs what is left without idling, and more instances idle more', () => {
    const costs = unitCostsOf(one.busy, one.idle)
    expect(costs.instanceCpuMs).toEqual({ each: 4, idlePerSecond: 1 })
    expect(costs.statements).toEqual({ each: 3, idlePerSecond: 2 })
    expect(predictEach(costs.instanceCpuMs, { units: 200, instances: 4, seconds: 10 })).toBeCloseTo(4.2)
  })

  test('a prediction that is off by more than its tolerance, or names the wrong limit, is not kept', () => {
    const two = {
      busy: taken({
        units: 200,
        instances: 2,
        instanceCpuMs: 820,
        storeCpuMs: 220,
        statements: 640,
        writes: 100,
        walBytes: 2000,
        machineCpuMs: 1400,
      }),
      idle,
    }
    const broken = (change: Partial<Taken>) =>
      checkInstances('unit', one, [{ busy: { ...two.busy, ...change }, idle }], 2)
        .filter(({ pass }) => !pass)
        .map(({ what }) => what)
    expect(broken({})).toEqual([])
    expect(broken({ storeCpuMs: 290 })).toEqual(['unit, 2 instances: CPU ms of Postgres'])
    expect(broken({ statements: 400 })).toEqual(['unit, 2 instances: statements'])
    expect(broken({ diskMs: 9000 })).toEqual(['unit, 2 instances: what binds'])
  })

  test('more instances share the load of one, until something else binds', () => {
    const busy = taken({ instanceCpuMs: 9000, machineCpuMs: 12_000 })
    expect(loadsOf(busy, 2)).toMatchObject({ 'an instance': 0.9, 'all cores': 0.6 })
    expect(predictBinding(busy, 1, 2)).toBe('an instance')
    expect(predictBinding(busy, 2, 2)).toBe('all cores')
  })

  test('ten instances carry ten times as much, a thousand what one store leaves them', () => {
    const costs = unitCostsOf(one.busy, one.idle)
    expect(carriedBy(1, costs, 16).byInstances).toBeCloseTo(249.75)
    expect(carriedBy(10, costs, 16).byInstances).toBeCloseTo(2497.5)
    expect(carriedBy(1000, costs, 16).byStore).toBeCloseTo(15_000)
    expect(carriedBy(100_000, costs, 16).byStore).toBe(0)
    const most = instancesPerStore(costs, 16)
    const at = carriedBy(most, costs, 16)
    const above = carriedBy(most + 1, costs, 16)
    expect(at.byInstances).toBeLessThanOrEqual(at.byStore)
    expect(above.byInstances).toBeGreaterThan(above.byStore)
  })
})

describe('the gas of a block', () => {
  const gas = { base: 30_000, perPayment: 48_000 }

  test('a transaction is added while what it asks for fits, and takes up what it used', () => {
    // 12.04M asked, 4.83M used: the seventh is added at 28.98M, an eighth would need 33.81M + 12.04M.
    expect(paymentsPerBlock(42_000_000, gas, 100)).toBe(700)
    expect(paymentsPerBlock(41_000_000, gas, 100)).toBe(600)
    expect(paymentsPerBlock(12_040_000, gas, 100)).toBe(100)
    expect(paymentsPerBlock(12_039_999, gas, 100)).toBe(0)
  })

  test('asks for what the gas wallet asks for', async () => {
    const { batchSize } = createGasWallet({ signers: [] } as unknown as Parameters<typeof createGasWallet>[0])
    expect(batchSize).toBe(largestBatch(Number.POSITIVE_INFINITY))
    expect(gasLimitOf(batchSize)).toBe(Number(fullTransactionGas()))
  })

  test('is fitted to transactions of different sizes, or of one', () => {
    const sizes = [10, 50, 100].map((payments) => ({ payments, gasUsed: 30_000 + 48_000 * payments }))
    expect(fitBatchGas(sizes).perPayment).toBeCloseTo(48_000)
    expect(fitBatchGas(sizes).base).toBeCloseTo(30_000)
    expect(fitBatchGas([sizes[0]!, sizes[0]!])).toEqual({ base: 0, perPayment: 51_000 })
  })

  test('is published for every network with real money, and what is charged by its limit costs more', () => {
    const networks = networkCapacities(gas)
    const named = (name: string) => networks.find((network) => network.name === name)!
    for (const { perSecond, millionUsd } of networks)
      expect(Math.min(perSecond, millionUsd)).toBeGreaterThan(0)
    expect(named('Base').perSecond).toBe(3000)
    // 48,300 gas × 0.005 gwei × $3,000, a million times.
    expect(named('Base').millionUsd).toBeCloseTo(724.5)
    expect(named('Monad').millionUsd).toBeCloseTo(1204)
    expect(networks.filter(refusesFullBatch).map(({ name, batch }) => [name, batch])).toEqual([['Sei', 83]])
  })

  test('a block that takes fewer than predicted, or a wallet that costs, is not kept', () => {
    const cell: WalletsCell = {
      wallets: 1,
      perBlock: [600, 600, 100],
      batches: Array.from({ length: 13 }, () => ({ payments: 100, gasUsed: 4_830_000 })),
      streamed: {
        ...{ perSecond: 100, perBlock: 20, cpuMsEach: 5 },
        loads: { 'the gas of a block': 0.02, 'an instance': 0.5, 'all cores': 0.99 },
      },
    }
    const prediction = predictWallets(cell, 1300, 40_000_000)
    expect(prediction).toMatchObject({ batch: 100, perBlock: 600, blocks: 3, binding: 'all cores' })
    const broken = (change: Partial<WalletsCell>) =>
      checkWallets(prediction, { ...cell, wallets: 8, ...change }).filter(({ pass }) => !pass)
    expect(broken({})).toEqual([])
    expect(broken({ perBlock: [400, 400, 400, 100] })).toHaveLength(1)
    expect(broken({ perBlock: [600, 200, 200, 200, 100] })).toHaveLength(1)
    expect(broken({ streamed: { ...cell.streamed, cpuMsEach: 7 } })).toHaveLength(1)
    const loads = { ...cell.streamed.loads, 'the gas of a block': 0.99, 'all cores': 0.5 }
    expect(broken({ streamed: { ...cell.streamed, loads } })).toHaveLength(1)
  })
})

test('docs/scale.md shows the run that bench/scale/results.json holds, and every prediction of it was kept', () => {
  const results = JSON.parse(read('../bench/scale/results.json'))
  expect(read('../docs/scale.md')).toContain(docsSection(results))
  expect(results.checks.filter(({ pass }: { pass: boolean }) => !pass)).toEqual([])
})
