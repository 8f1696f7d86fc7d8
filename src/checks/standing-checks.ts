import type { ResolvedConfig } from '../config/resolved-config.ts'
import { checkClock, checkFreshness } from './check-clock.ts'
import { checkDisk, checkPostgresDurability, checkPrivacy } from './check-durability.ts'
import type { Check } from './run-checks.ts'

/** What is asked of a server that stands, beside the live checks that a setup page runs while one types. */
export function standingChecks(config: ResolvedConfig, dataDir: string): Check[] {
  const { network, settlement, store } = config
  const mainnet = network.word === 'mainnet'
  const clocks = [network.rpcUrl, ...(settlement.kind === 'facilitator' ? [settlement.url] : [])]
  return [
    checkFreshness(network.rpcUrl, network),
    checkClock(clocks),
    ...(store.kind === 'postgres' ? [checkPostgresDurability(store.url, mainnet)] : []),
    ...(store.kind === 'embedded' ? [checkDisk(dataDir)] : []),
    checkPrivacy(dataDir),
  ]
}
