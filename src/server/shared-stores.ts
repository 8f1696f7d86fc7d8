import { resolve } from 'node:path'
import { ConfigError, UnavailableError } from '../errors.ts'
import type { Alerts, Store, StoreChoice } from '../ports.ts'
import { openStore } from '../stores/open-store.ts'

export interface SharedStores {
  open(choice: StoreChoice, alerts: Alerts): Promise<Store>
}

const VARIABLE_OF: Partial<Record<StoreChoice['kind'], string>> = {
  embedded: 'DATA_DIR',
  postgres: 'DATABASE_URL',
  redis: 'REDIS_URL',
}

/**
 * Opens stores for gateways that replace each other inside one process. The embedded store can be opened only once, so the
 * old and the new gateway share it while the old one finishes: they are two instances on one store, which row versions and
 * leases keep apart. It is closed with the last of them.
 */
export function createSharedStores(open: typeof openStore = openStore): SharedStores {
  const shared = new Map<string, { store: Promise<Store>; holders: number }>()

  async function share(key: string, opened: () => Promise<Store>): Promise<Store> {
    const known = shared.get(key)
    const entry = known ?? { store: opened(), holders: 0 }
    shared.set(key, entry)
    entry.holders += 1
    let held = true
    const release = async () => {
      if (!held) return
      held = false
      entry.holders -= 1
      if (entry.holders > 0) return
      shared.delete(key)
      await (await entry.store).close()
    }
    try {
      const store = await entry.store
      // Leases in the store may be voided only by the gateway that opened it: for it, their owners are dead processes.
      return { ...store, exclusive: store.exclusive && !known, close: release }
    } catch (error) {
      if (shared.get(key) === entry) shared.delete(key)
      throw error
    }
  }

  return {
    open(choice, alerts) {
      const opened = () => named(choice, alerts, (told) => open(choice, told))
      return choice.kind === 'embedded' ? share(resolve(choice.dataDir), opened) : opened()
    },
  }
}

/** Adds the variable that chose the store to its alerts, and to the faults of one that cannot be used or does not answer. */
async function named(
  choice: StoreChoice,
  alerts: Alerts,
  open: (alerts: Alerts) => Promise<Store>,
): Promise<Store> {
  const variable = VARIABLE_OF[choice.kind]
  if (variable === undefined) return open(alerts)
  // A store in Postgres may be woken by Redis.
  const name = (text: string) => `${/^(the )?redis /i.test(text) ? 'REDIS_URL' : variable}: ${text}`
  try {
    return await open({ raise: (kind, message) => alerts.raise(kind, name(message)) })
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(error.faults.map(name))
    if (error instanceof UnavailableError) error.message = name(error.message)
    throw error
  }
}
