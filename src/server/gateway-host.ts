import { setTimeout as sleep } from 'node:timers/promises'
import { configFilePath, isChanged, replaceConfigFile, type SavedValues } from '../config/config-file.ts'
import type { Configuration } from '../config/read-configuration.ts'
import { isSet } from '../config/read-variable.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { variableFault, variableWarnings } from '../config/variable-fault.ts'
import { ConfigError, UnavailableError } from '../errors.ts'
import type { TokenRefusal } from './auth/create-auth.ts'
import { createGatewaySwap, type GatewaySwap } from './gateway-swap.ts'
import type { Loaded } from './load-configuration.ts'
import { rememberManagedInfra } from './managed-infra.ts'
import { inUse, mayHoldRecords, recordsLeftBehind } from './records-left-behind.ts'
import type { SaveResult } from './setup/create-setup-api.ts'
import { guardedChanges } from './setup/guarded-changes.ts'
import type { RunningGateway } from './start-gateway.ts'
import { waitAtMost } from './wait-at-most.ts'

export interface GatewayHostParts {
  loaded: Loaded
  start(configuration: Configuration): Promise<RunningGateway>
  warn(message: string): void
  /** Called when another configuration has taken effect. */
  onChange(configuration: Configuration): void
  /** Between attempts to reach a store; there are 60 of them. Default 1 s. */
  retryMs?: number
}

/** Runs the one gateway of this server, and swaps it for another when the operator saves another configuration. */
export interface GatewayHost extends Pick<GatewaySwap<RunningGateway>, 'current' | 'answer' | 'close'> {
  /** `setup`: the operator must configure it. `starting`: it sells as soon as its store answers. */
  phase(): 'setup' | 'starting' | 'live'
  /** The configuration in effect. */
  configuration(): Configuration
  /** What is wrong with the saved file, or what went wrong when a gateway was started with it. */
  fileFaults(): readonly string[]
  /** Resolves when a gateway runs, or when the setup page must help. Rejects with faults that the setup page cannot fix. */
  start(): Promise<void>
  /** Resolves when `start` has ended, in success or failure, or after the limit. */
  untilStarted(limitMs: number): Promise<void>
  /**
   * Starts a gateway with these values, saves them, and swaps to it. On any failure everything stays as it was.
   * `refuseToken` is called last, and only for changes that need the operator's token: a token that was printed can be
   * used only once, so a save that fails anyway must not use it up.
   */
  save(
    values: SavedValues,
    confirmed: boolean,
    refuseToken: () => TokenRefusal | undefined,
  ): Promise<SaveResult>
}

const ATTEMPTS = 60

export function createGatewayHost(parts: GatewayHostParts): GatewayHost {
  const { loaded, warn, retryMs = 1000 } = parts
  const { dataDir, infra } = loaded
  const swap = createGatewaySwap<RunningGateway>((error) =>
    warn(`the replaced gateway did not close: ${messageOf(error)}`),
  )
  let { configuration, fileFaults } = loaded
  let lastSave: Promise<unknown> = Promise.resolve()
  let endStart = () => {}
  const startEnded = new Promise<void>((resolve) => {
    endStart = resolve
  })

  function swapTo(running: RunningGateway): void {
    running.openDashboard()
    swap.swapTo(running)
    endStart()
    configuration = running.configuration
    fileFaults = []
    try {
      if (infra) rememberManagedInfra(dataDir, infra)
    } catch (error) {
      warn(`${dataDir} cannot remember which store is in use: ${messageOf(error)}`)
    }
    if (configuration.config) for (const line of variableWarnings(configuration.config)) warn(line)
    parts.onChange(configuration)
  }

  /** A store that cannot be reached yet is tried again: in a container it may start after this server. */
  async function startWithRetries(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const running = await parts.start(configuration)
        // The operator may have saved another configuration meanwhile; that one counts.
        if (swap.current()) await running.close()
        else swapTo(running)
        return
      } catch (cause) {
        if (swap.current()) return
        if (!(cause instanceof UnavailableError) || attempt === ATTEMPTS) throw cause
        warn(`${cause.message}; trying again (${attempt} of ${ATTEMPTS})`)
        await sleep(retryMs)
      }
    }
  }

  /** Reasons to ask the operator before saving: records of payments that the new configuration would not find. */
  async function reasonsToConfirm(after: ResolvedConfig): Promise<string[]> {
    const running = swap.current()
    const before = inUse(configuration, dataDir)
    const reasons = recordsLeftBehind(before, after)
    if (running) {
      const hasRecords = () =>
        running.gateway.backstage.store.log(0, 1).then(
          (entries) => entries.length > 0,
          () => true,
        )
      return reasons.length > 0 && (await hasRecords()) ? reasons : []
    }
    if (reasons.length > 0 && (await mayHoldRecords(before.store))) return reasons
    // The configured store may never have run: the records may still be in the embedded one.
    if (after.store.kind === 'embedded' || !(await mayHoldRecords({ kind: 'embedded', dataDir }))) return []
    return [`The embedded store in ${dataDir} holds records of payments, which another store does not know.`]
  }

  async function saveNow(
    values: SavedValues,
    confirmed: boolean,
    refuseToken: () => TokenRefusal | undefined,
  ): Promise<SaveResult> {
    const next = loaded.read(values)
    if (!next.config) {
      return {
        kind: 'faulty',
        faults: next.faults.map(variableFault),
        missing: next.missing.map(variableFault),
      }
    }
    const path = configFilePath(dataDir)
    const changed: SaveResult = {
      kind: 'failed',
      error: `${path} was changed since this server read it, for example by a command. Restart the server, then change it here. Nothing was saved.`,
    }
    // What a command wrote meanwhile, such as a rotated secret, would be undone.
    if (isChanged(dataDir, configuration.saved)) return changed
    const reasons = confirmed ? [] : await reasonsToConfirm(next.config)
    if (reasons.length > 0) return { kind: 'unconfirmed', reasons }
    const names = guardedChanges(configuration.saved, values, swap.current() !== undefined)
    const refusal = names.length > 0 ? refuseToken() : undefined
    if (refusal) return { kind: 'token-needed', names, refusal }
    let running: RunningGateway
    try {
      running = await parts.start(next)
    } catch (error) {
      if (error instanceof ConfigError)
        return { kind: 'faulty', faults: error.faults.map(variableFault), missing: [] }
      return {
        kind: 'failed',
        error: `The gateway could not start: ${messageOf(error)}. Nothing has changed.`,
      }
    }
    try {
      // The gateway took its time to start.
      if (!replaceConfigFile(dataDir, configuration.saved, values)) {
        await running.close()
        return changed
      }
    } catch (error) {
      await running.close()
      return { kind: 'failed', error: `${path} cannot be written: ${messageOf(error)}. Nothing has changed.` }
    }
    swapTo(running)
    return { kind: 'saved', url: next.config.baseUrl }
  }

  return {
    current: swap.current,
    answer: swap.answer,
    close: swap.close,
    phase: () => {
      if (swap.current()) return 'live'
      return configuration.config && fileFaults.length === 0 ? 'starting' : 'setup'
    },
    configuration: () => configuration,
    fileFaults: () => fileFaults,
    untilStarted: (limitMs) => waitAtMost(limitMs, startEnded),
    async start() {
      if (!configuration.config || fileFaults.length > 0) return endStart()
      try {
        await startWithRetries()
      } catch (error) {
        endStart()
        if (!(error instanceof ConfigError)) throw error
        const isSaved = (fault: string) => {
          const { name } = variableFault(fault)
          return name !== null && configuration.saved[name] !== undefined && !isSet(name, loaded.environment)
        }
        if (!error.faults.every(isSaved)) throw error
        fileFaults = [...error.faults]
      }
    },
    save(values, confirmed, refuseToken) {
      // One after the other: two gateways that start at once could not both be the next one.
      const saved = lastSave.then(() => saveNow(values, confirmed, refuseToken))
      lastSave = saved.catch(() => {})
      return saved
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
