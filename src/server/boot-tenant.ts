import type { Configuration } from '../config/read-configuration.ts'
import { ConfigError } from '../errors.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import type { Store } from '../ports.ts'
import { type BackOffice, openBackOffice } from './admin/open-back-office.ts'
import type { Occupant } from './boot-slot.ts'
import type { StoreKeeper } from './boot-store.ts'
import type { Observer } from './observe/create-observer.ts'

/** A gateway that runs by a configuration, and what the operator sees of it. */
export interface Tenant extends Occupant {
  gateway: Gateway
  configuration: Configuration
  /** Undefined: not its path. */
  admin(request: Request, path: string): Promise<Response | undefined>
  /** It is the one that sells now: the dashboard is about it. */
  enter(): void
  /** Ends the dashboard's streams, which would keep a server from closing. */
  leave(): void
}

/** Starts a gateway. Whatever it had opened is closed again if it cannot start. */
export async function openTenant(
  configuration: Configuration,
  { observer, keeper }: { observer: Observer; keeper: StoreKeeper },
): Promise<Tenant> {
  const opened: Store[] = []
  try {
    const gateway = await createGateway(configuration.options, configuration.source, {
      ...observer.instruments,
      async openStore(choice, alerts) {
        const store = await keeper.open(choice, alerts)
        opened.push(store)
        return store
      },
    })
    let office: BackOffice | undefined
    const leave = () => {
      office?.close()
      office = undefined
    }
    return {
      gateway,
      configuration,
      admin: async (request, path) => office?.api(request, path),
      enter() {
        office ??= openBackOffice({ gateway, observer })
      },
      leave,
      answer: gateway.answer,
      async close() {
        leave()
        await gateway.close()
      },
    }
  } catch (error) {
    await Promise.allSettled(opened.map((store) => store.close()))
    throw error instanceof ConfigError ? inVariables(error, configuration) : error
  }
}

/** Some faults show only when a gateway starts, and name options; the operator has set variables. */
function inVariables({ faults }: ConfigError, { source }: Configuration): ConfigError {
  const labels: Readonly<Record<string, string | undefined>> = source.labels ?? {}
  return new ConfigError(
    faults.map((fault) => fault.replace(/^[a-zA-Z]+(?= )/, (word) => labels[word] ?? word)),
  )
}
