import type { Clock } from '../ports.ts'
import type { BuiltRail } from './build-rail.ts'

/** Long against the price of a call to an RPC, short against the time that it takes to send coins. */
export const LOOK_AT_GAS_MS = 30_000

/**
 * Looks at the gas wallets of a single network, so that the seller hears of an empty one, and of its end, also while no buyer and no
 * probe asks: the look itself raises the alerts. The engine watches several networks by itself.
 */
export function watchGas(
  built: ReadonlyArray<Pick<BuiltRail, 'gasWallets' | 'settlementReady'>>,
  { sleep }: Pick<Clock, 'sleep'>,
): { stop(): void } {
  const [rail] = built
  let stopped = built.length !== 1 || rail?.gasWallets.length === 0
  async function watch(): Promise<void> {
    while (!stopped) {
      await sleep(LOOK_AT_GAS_MS)
      // What it rejects with is in the alert.
      if (!stopped) await rail?.settlementReady().catch(() => {})
    }
  }
  void watch()
  return {
    stop() {
      stopped = true
    },
  }
}
