import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/fixtures/**'],
    pool: 'forks',
    maxWorkers: 2,
    // Loading viem and the x402 packages anew for every file would cost more than the tests themselves.
    isolate: false,
    // Alerts that a test provokes are only worth reading when it fails.
    silent: 'passed-only',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    allowOnly: false,
  },
})
