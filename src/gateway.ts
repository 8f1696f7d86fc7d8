import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Instruments } from './backstage.ts'
import type { GatewayOptions, OptionSource } from './config/options.ts'
import { resolveConfig } from './config/resolve-config.ts'
import { secretValues } from './config/secret-values.ts'
import type { Engine } from './engine/outcome.ts'
import { ConfigError } from './errors.ts'
import type { Gateway } from './gateway-api.ts'
import type { Clock, Turns } from './ports.ts'
import { withCurrentRows } from './stores/current-rows.ts'
import { openStore } from './stores/open-store.ts'
import { openTurns } from './stores/open-turns.ts'
import { buildAlerts } from './wiring/build-alerts.ts'
import { buildGateway } from './wiring/build-gateway.ts'
import { connectChain } from './wiring/build-rail.ts'
import { createWalletCode } from './wiring/contract-faults.ts'
import { warnOfCatalog } from './wiring/warn-of-catalog.ts'

export type { ClosedCredits } from './engine/outcome.ts'
export { type Books, openBooks } from './wiring/open-books.ts'

export type { Gateway }

const clock: Clock = {
  now: Date.now,
  sleep: (ms) => sleep(ms, undefined, { ref: false }),
  async requestsSent() {
    // Calls that are made together become one request, which undici sends after a turn of the event loop.
    await nextTurn()
    await nextTurn()
  },
}

/**
 * Builds a gateway from a few options. Rejects with a ConfigError that names every fault at once.
 *
 * @example
 * const gateway = await createGateway({
 *   walletAddress: process.env.SVC_WALLET_ADDRESS,
 *   plans: [{ planId: 'basic', unitAmount: '$1.00' }],
 *   tokenSecret: process.env.TOKEN_SECRET,
 * })
 * const response = await gateway.fetch(new Request('http://localhost:3000/discover'))
 */
export async function createGateway(
  options: GatewayOptions,
  source: OptionSource = {},
  instruments: Instruments = {},
): Promise<Gateway> {
  const config = resolveConfig(options, source)
  warnOfCatalog(config, source)
  instruments.conceal?.(secretValues(config))
  let events: Engine['events']
  const alerts = buildAlerts(config, instruments, () => events)
  const isMetered = config.routes.some(({ scheme }) => scheme !== undefined)
  const wallets = createWalletCode(config.networks)
  const connected = await Promise.all(
    config.networks.map((on) => connectChain(on, { alerts, clock }, { isMetered, wallets })),
  )
  const faults = [...connected.flatMap((chain) => chain.faults), ...config.networks.flatMap(wallets.faultsOf)]
  if (faults.length > 0) throw new ConfigError(faults)
  const opened = await (instruments.openStore ?? openStore)(config.store, alerts)
  const store = withCurrentRows(instruments.store?.(opened) ?? opened)
  let turns: Turns | undefined
  try {
    const usesGasWallet = config.networks.some(({ settlement }) => settlement.kind === 'gas-wallet')
    if (usesGasWallet) turns = await openTurns(config.store)
    const onEvents = (control: Engine['events']): void => {
      events = control
    }
    const parts = { connected, store, turns, alerts, clock, onEvents }
    return await buildGateway(config, parts, source, instruments)
  } catch (fault) {
    // Whoever tries again in this process finds the store free. What failed first is what there is to say.
    turns?.close()
    await store.close().catch(() => {})
    throw fault
  }
}
