import type { Address } from '../../protocol/hex.ts'
import { type Core, commit, getOne } from '../core.ts'
import type { OpenRail } from '../rails.ts'

const markOf = ({ network }: OpenRail, wallet: Address): string => `settler/${network.chainId}/${wallet}`

/**
 * Remembers which wallets ever settled metered payments. The chain shows such a settlement as a plain transfer of the
 * payer to the seller, and it must not buy a second thing as one.
 */
export async function rememberSettlers(core: Core): Promise<void> {
  for (const rail of core.rails.all) {
    for (const wallet of rail.settlers ?? []) {
      const row = { key: markOf(rail, wallet), version: 0, ref: null, dueAt: null, value: 1 }
      // A conflict means that it is known.
      await commit(core, { puts: [{ table: 'marks', row }] })
    }
  }
}

export async function isSettler(core: Core, rail: OpenRail, sender: Address): Promise<boolean> {
  const configured = core.rails.all.some(
    ({ network, settlers }) => network.id === rail.network.id && settlers?.includes(sender),
  )
  return configured || (await getOne(core, 'marks', markOf(rail, sender))) !== undefined
}
