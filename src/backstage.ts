/** What stands behind and around a gateway: for the seller's own pages, commands and instruments, never for buyers. */

import type { NetworkBalances, WalletBalance } from './chain/wallet-balances.ts'
import type { Engine } from './engine/outcome.ts'
import type { AlertKind, Alerts, Store, StoreChoice } from './ports.ts'
import type { Network } from './protocol/network.ts'

export type { ClosedCredits, Dossier, Engine, Intent, Outcome, PrepaidOutcome } from './engine/outcome.ts'
export type { NetworkBalances, WalletBalance }

/** What the operator's side needs of the gateway that it stands behind. */
export interface Backstage extends Pick<Engine, 'inspect' | 'rails' | 'events'> {
  /** The first is preferred. */
  networks: readonly Network[]
  store: Pick<Store, 'name' | 'get' | 'list' | 'log' | 'audit' | 'onCommitted' | 'snapshot' | 'listDue'>
  /** The seller's wallets on each network, and what they hold now. */
  balances(): Promise<NetworkBalances[]>
  /** Calls the listener with every alert from now on; the first listener also with the newest ones before it. */
  watchAlerts(listener: (kind: AlertKind, message: string) => void): void
}

/** Watches a gateway from outside, by standing around its ports: see src/server/observe. */
export interface Instruments {
  /** Opens the store in place of the gateway: a server that replaces its gateway keeps one store for both. */
  openStore?(choice: StoreChoice, alerts: Alerts): Promise<Store>
  store?(store: Store): Store
  engine?(engine: Engine): Engine
  /** Takes alerts in place of the JSON line on standard error. */
  alert?(kind: AlertKind, message: string): void
  /** Values that must never be in a log. */
  conceal?(secrets: readonly string[]): void
}
