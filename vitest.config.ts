import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, in the order in which they start: one that starts last leaves the other cores idle. */
const FIRST = [
  'test/crash/points.test.ts',
  'test/sim/storms.test.ts',
  'test/sim/sim.test.ts',
  'test/networks/two-chains-at-once.test.ts',
  'test/conformance/postgres.test.ts',
  'test/networks/rpc-cut.test.ts',
  'test/sim/mutants.test.ts',
  'test/e2e/earlier-store.test.ts',
  'test/e2e/metered-embedded.test.ts',
  'test/e2e/credits-instances.test.ts',
  'test/e2e/frameworks-handlers.test.ts',
  'test/e2e/sandbox.test.ts',
  'test/browser/page-states.test.ts',
  'test/e2e/store-faults-servers.test.ts',
  'test/e2e/remote-rpc.test.ts',
  'test/e2e/admin-refunds.test.ts',
  'test/e2e/package-sandbox.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/browser/setup-short.test.ts',
  'test/browser/setup.test.ts',
  'test/browser/pay-unfinished.test.ts',
  'test/e2e/mpp-pending.test.ts',
]

/** These need much time, and test what `npm run bench`, `crash` and `failover` do, or compile contracts: they run with `npm test -- --long` only. */
const LONG = [
  'test/bench/stored-sales.test.ts',
  'test/bench/finished-sales.test.ts',
  'test/scale-quick.test.ts',
  'test/crash/kill-process.test.ts',
  'test/crash/many-instances.test.ts',
  'test/failover/postgres-failover.test.ts',
  'test/failover/restore.test.ts',
  'test/chain/compiled.test.ts',
]
const ORDER = [...LONG, ...FIRST]
const long = process.env.PAYSTILE_TEST_LENGTH === 'long'

/** Vitest knows how long a file takes only where it has run before; a new clone has nothing but their sizes. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = ORDER.indexOf(relative(this.ctx.config.root, moduleId))
      return rank === -1 ? ORDER.length : rank
    }
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/fixtures/**', ...(long ? [] : LONG)],
    pool: 'forks',
    execArgv: ['--max-semi-space-size=64', '--min-semi-space-size=32'],
    // More than there are cores: many tests wait most of their time, for blocks, refunds and processes.
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    // Loading viem and the x402 packages anew for every file would cost more than the tests themselves.
    isolate: false,
    // Alerts that a test provokes are only worth reading when it fails.
    silent: 'passed-only',
    // For a machine that is busy with other things as well. What a test promises about time, it measures itself.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    allowOnly: false,
  },
})
