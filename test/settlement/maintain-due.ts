import type { Clock, Settlement, Store } from '../../src/ports.ts'

/** As the job does it: transactions whose time has come are taken under a fence and handed to the settlement. */
export async function maintainDue(
  settlement: Pick<Settlement, 'maintain'>,
  store: Store,
  clock: Clock,
): Promise<void> {
  const now = clock.now()
  await settlement.maintain(await store.takeDue('walletTxs', now, now + 12_000, 200))
}
