import { createPayerRoom } from '../../src/engine/budgets/payer-room.ts'
import { createUnpaidLog } from '../../src/engine/challenge/log-unpaid.ts'
import type { Core, EngineConfig, Ports } from '../../src/engine/core.ts'
import { openRails } from '../../src/engine/rails.ts'
import { createSignals } from '../../src/engine/signals.ts'
import { buildCatalog } from '../../src/rules/catalog.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { mustNotBeAsked, testRail } from './test-rail.ts'

export interface TestCoreParts extends Partial<Ports> {
  config?: Partial<EngineConfig>
}

const CONFIG: EngineConfig = {
  baseUrl: 'http://localhost',
  catalog: buildCatalog([{ planId: 'basic', unitAmount: '$1.00' }]),
  idKeys: [{ id: 1, key: new Uint8Array(32) }],
  challengeTtlMs: 900_000,
  settleWaitMs: 1000,
  pollIntervalMs: 10,
  storePollMs: 250,
  gatherMs: 0,
  quietMs: 0,
  refundMinAgeMs: 0,
  refundIntervalMs: 1000,
  refundMaxAttempts: 5,
  jobIntervalMs: 1000,
  leaseMs: 1000,
  deliveryLeaseMs: 1000,
  payerFailuresPerMinute: 30,
}

/** Ports over the memory store, a clock that stands still and one rail, unless the test brings its own. */
export function testPorts({ config, ...parts }: TestCoreParts = {}) {
  const clock = createFakeClock()
  const store = createMemoryStore()
  const alerts: Array<{ kind: string; message: string }> = []
  let drawn = 0
  const ports: Ports = {
    store,
    rails: [testRail()],
    delivery: { instant: true, deliver: mustNotBeAsked, open: mustNotBeAsked, expiryOf: () => null },
    clock,
    random: { bytes: (length) => new Uint8Array(length).fill(++drawn) },
    alerts: { raise: (kind, message) => void alerts.push({ kind, message }) },
    hooks: {},
    ...parts,
  }
  return { ports, config: { ...CONFIG, ...config }, alerts }
}

/** What engine functions work on, over {@link testPorts}. */
export function testCore(parts: TestCoreParts = {}) {
  const { ports, config, alerts } = testPorts(parts)
  const core: Core = {
    ...ports,
    config,
    rails: openRails(ports.rails, { ...ports, maxGasShare: config.maxGasShare }),
    signals: createSignals(),
    payers: createPayerRoom(ports.clock, config.payerFailuresPerMinute),
    unpaidLog: createUnpaidLog(ports.clock),
    creditsAdded: () => undefined,
    alerted: new Set(),
  }
  return { core, rail: core.rails.preferred, store: core.store, alerts }
}
