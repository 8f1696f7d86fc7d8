import type { ResolvedConfig } from '../config/resolved-config.ts'
import { checkClock, checkFreshness } from './check-clock.ts'
import { checkDisk, checkPostgresDurability, checkPrivacy } from './check-durability.ts'
import { checkLogo } from './check-logo.ts'
import type { Check } from './run-checks.ts'

/** Checks of an installed server, in addition to the live checks that the setup page runs while one types. */
export function standingChecks(config: ResolvedConfig, dataDir: string): Check[] {
  const { networks, store, shopWindow, baseUrl } = config
  const logo = shopWindow?.logoUrl?.startsWith('/') ? new URL(shopWindow.logoUrl, baseUrl).href : undefined
  const several = networks.length > 1
  const mainnet = !networks[0].network.testnet
  const clocks = networks.flatMap(({ network, settlement }) => [
    ...network.rpcUrls,
    ...(settlement.kind === 'facilitator' ? [settlement.url] : []),
  ])
  return [
    ...networks.flatMap(({ network, labels }) =>
      network.rpcUrls.map((rpcUrl) => deferring(checkFreshness(rpcUrl, { network, labels, several }))),
    ),
    checkClock(clocks),
    ...(store.kind === 'postgres' ? [deferring(checkPostgresDurability(store.url, mainnet))] : []),
    ...(store.kind === 'embedded' ? [deferring(checkDisk(dataDir))] : []),
    checkPrivacy(dataDir),
    ...(logo === undefined ? [] : [deferring(checkLogo(logo))]),
  ]
}

/** Finds nothing if the server cannot be reached: a live check reports that already, and one fault should be one line. */
function deferring(check: Check): Check {
  return { ...check, run: (limitMs) => check.run(limitMs).catch(() => []) }
}
