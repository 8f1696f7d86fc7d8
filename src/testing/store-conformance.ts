import type { Store } from '../ports.ts'
import type { Bench } from './store-bench.ts'
import { creditChecks } from './store-credit-checks.ts'
import { compareWithModel } from './store-model.ts'
import { readChecks } from './store-read-checks.ts'
import { stepChecks } from './store-step-checks.ts'

/** An empty store for one check. */
export interface OpenStore {
  store: Store
  /** Closes the store and opens it again with the same data; absent if the data end with the process. */
  reopen?(): Promise<Store>
  close(): Promise<void>
}

/** One thing that every store must do; `run` rejects where this one does not. */
export interface ConformanceCheck {
  name: string
  run(): Promise<void>
}

/**
 * What every store must do, as named checks for any test runner. `open` gives each check an empty store.
 *
 * @example
 * import test from 'node:test'
 * import type { Store } from 'paystile'
 *
 * function testMine(openEmpty: () => Promise<Store>): void {
 *   const open = async () => {
 *     const store = await openEmpty()
 *     return { store, close: () => store.close() }
 *   }
 *   for (const { name, run } of storeConformance(open, { runs: 200 })) test(name, run)
 * }
 */
export function storeConformance(
  open: () => Promise<OpenStore>,
  { runs }: { runs: number },
): ConformanceCheck[] {
  const random = ({ store, reopen }: Bench) => compareWithModel(store, runs, reopen)
  const all = {
    ...readChecks,
    ...stepChecks,
    ...creditChecks,
    [`${runs} random command sequences answer as a plain map does`]: random,
  }
  return Object.entries(all).map(([name, check]) => ({
    name,
    async run() {
      const opened = await open()
      try {
        await check({ store: opened.store, reopen: opened.reopen?.bind(opened) })
      } finally {
        await opened.close()
      }
    },
  }))
}
