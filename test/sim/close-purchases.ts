import type { RecordedStore } from './ports/recorded-store.ts'
import type { World } from './world.ts'

/** The operator closes some purchases: what is unspent of them goes back, and nothing more may be spent. */
export function closePurchases(world: World, recorded: RecordedStore): void {
  const { creditDice, scheduler, weather } = world

  async function close(): Promise<void> {
    const open = (await recorded.readAll('credits')).filter(
      ({ ended, reserved }) => !ended && reserved.length === 0,
    )
    if (open.length === 0 || world.calm) return
    const row = creditDice.pick(open)
    const step = { puts: [{ table: 'credits' as const, row: { ...row, ended: 'closed' as const } }] }
    const { kind } = await recorded.store.commit(step)
    if (kind === 'applied') world.count('purchases closed')
  }

  for (let turn = 0; turn < weather.closings; turn++)
    scheduler.after(creditDice.int(0, weather.horizonMs), () => void close())
}
