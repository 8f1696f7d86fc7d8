import { type Finding, runChecks } from '../checks/run-checks.ts'
import type { Configuration } from '../config/read-configuration.ts'
import { ConfigError } from '../errors.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import type { Store } from '../ports.ts'
import { type Dashboard, openDashboard } from './admin/open-dashboard.ts'
import type { Swappable } from './gateway-swap.ts'
import type { Observer } from './observe/create-observer.ts'
import type { SharedStores } from './shared-stores.ts'

/** A gateway that runs with one configuration, and what the operator sees of it. */
export interface RunningGateway extends Swappable {
  gateway: Gateway
  configuration: Configuration
  /** Answers the operator's API; undefined: not its path, or its dashboard is not open. */
  admin(request: Request, path: string): Promise<Response | undefined>
  /** Called when this gateway becomes the one that sells: the dashboard is about it from now on. */
  openDashboard(): void
  /** Ends the dashboard's streams, which would keep a server from closing. */
  closeDashboard(): void
}

/** Starts a gateway. If it cannot start, the stores that it opened are closed again. */
export async function startGateway(
  configuration: Configuration,
  { observer, stores, dataDir }: { observer: Observer; stores: SharedStores; dataDir: string },
): Promise<RunningGateway> {
  const opened: Store[] = []
  try {
    const gateway = await createGateway(configuration.options, configuration.source, {
      ...observer.instruments,
      async openStore(choice, alerts) {
        const store = await stores.open(choice, alerts)
        opened.push(store)
        return store
      },
    })
    let dashboard: Dashboard | undefined
    const closeDashboard = () => {
      dashboard?.close()
      dashboard = undefined
    }
    return {
      gateway,
      configuration,
      admin: async (request, path) => dashboard?.api(request, path),
      openDashboard() {
        dashboard ??= openDashboard({
          ...{ gateway, observer },
          mcp: {
            writes: configuration.settings.adminMcpWrites,
            diagnose: () => diagnose(configuration, dataDir),
          },
        })
      },
      closeDashboard,
      answer: gateway.fetch,
      async close() {
        closeDashboard()
        await gateway.close()
      },
    }
  } catch (error) {
    await Promise.allSettled(opened.map((store) => store.close()))
    throw error instanceof ConfigError ? inVariables(error, configuration) : error
  }
}

/** As `paystile doctor` does it, loaded when it is asked for. */
async function diagnose({ options, config }: Configuration, dataDir: string): Promise<Finding[]> {
  const [{ liveChecks }, { standingChecks }] = await Promise.all([
    import('../checks/live-checks.ts'),
    import('../checks/standing-checks.ts'),
  ])
  return runChecks([...liveChecks(options), ...(config ? standingChecks(config, dataDir) : [])])
}

/** Faults that show only when a gateway starts name options; the operator knows them as environment variables. */
function inVariables({ faults }: ConfigError, { source }: Configuration): ConfigError {
  const labels: Readonly<Record<string, string | undefined>> = source.labels ?? {}
  return new ConfigError(
    faults.map((fault) => fault.replace(/^[a-zA-Z]+(?= )/, (word) => labels[word] ?? word)),
  )
}
