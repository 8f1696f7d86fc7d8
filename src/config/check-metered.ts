import type { Route } from '../protocol/catalog.ts'
import type { NetworkPlace } from './network-places.ts'
import type { SettlementConfig } from './resolved-config.ts'

/** Only a wallet of ours may settle metered calls, so each network on which they are sold needs one. */
export function checkMetered(
  places: ReadonlyArray<{ place: NetworkPlace; settlement: SettlementConfig | undefined }>,
  routes: readonly Route[],
): void {
  const metered = routes.filter(({ scheme }) => scheme !== undefined).map(({ routeId }) => routeId)
  if (metered.length === 0) return
  for (const { place, settlement } of places) {
    if (settlement?.kind !== 'facilitator') continue
    const { reader, named } = place
    reader.faults.push(
      `${reader.label('gasWalletPrivateKey')} is not set, and route ${metered[0]} has scheme "upto", which no facilitator settles here: set it to a wallet with gas on ${named}, or give the route a fixed price.`,
    )
  }
}
