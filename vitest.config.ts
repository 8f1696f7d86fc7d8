import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/fixtures/**'],
    pool: 'forks',
    // One more than the two cores that it is meant for: much of it waits for blocks, disks and deadlines.
    maxWorkers: 3,
    // Loading viem and the x402 packages anew for every file would cost more than the tests themselves.
    isolate: false,
    // Alerts that a test provokes are only worth reading when it fails.
    silent: 'passed-only',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    allowOnly: false,
  },
})
