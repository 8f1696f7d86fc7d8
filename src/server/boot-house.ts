import { setTimeout as sleep } from 'node:timers/promises'
import { configFilePath, type SavedValues, writeConfigFile } from '../config/config-file.ts'
import { nameFault } from '../config/name-fault.ts'
import type { Configuration } from '../config/read-configuration.ts'
import { isSet } from '../config/read-variable.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { ConfigError, UnavailableError } from '../errors.ts'
import { holdsRecords } from '../stores/holds-records.ts'
import type { Doubt } from './auth/create-auth.ts'
import type { Loaded } from './boot-config.ts'
import { leftBehind } from './boot-records.ts'
import { createSlot, type Slot } from './boot-slot.ts'
import type { Tenant } from './boot-tenant.ts'
import { rememberManagedInfra } from './managed-infra.ts'
import type { Saved } from './setup/create-setup-api.ts'
import { guardedChanges } from './setup/guarded-changes.ts'

export interface HouseParts {
  loaded: Loaded
  open(configuration: Configuration): Promise<Tenant>
  warn(message: string): void
  /** Told when another configuration counts. */
  onChange(configuration: Configuration): void
  /** Between attempts to reach a store; the number of them bounds the wait. Default 1 s, 60 times. */
  retryMs?: number
}

/** The one gateway of the server, through all its configurations. */
export interface House {
  slot: Slot<Tenant>
  phase(): 'setup' | 'starting' | 'live'
  configuration(): Configuration
  /** Of the saved file: what it is, and what came of starting by it. */
  fileFaults(): readonly string[]
  /** Resolves when a gateway runs, or when the setup page must help. Throws what no setup page can mend. */
  start(): Promise<void>
  /** Resolves when the server no longer starts, however that ended, or after the limit. */
  settled(limitMs: number): Promise<void>
  /**
   * Starts a gateway by these values, keeps them, and lets it take over. On any failure all stays as it was. `doubt` is asked
   * last, and only for changes that need the token: one that was printed is used up by it.
   */
  save(values: SavedValues, confirmed: boolean, doubt: () => Doubt | undefined): Promise<Saved>
}

const ATTEMPTS = 60

export function createHouse(parts: HouseParts): House {
  const { loaded, open, warn, retryMs = 1000 } = parts
  const { dataDir, infra } = loaded
  const slot = createSlot<Tenant>((error) => warn(`the replaced gateway did not close: ${messageOf(error)}`))
  let { configuration, fileFaults } = loaded
  let turn: Promise<unknown> = Promise.resolve()
  let settle = () => {}
  const over = new Promise<void>((resolve) => {
    settle = resolve
  })

  function moveIn(tenant: Tenant): void {
    tenant.enter()
    slot.replace(tenant)
    settle()
    configuration = tenant.configuration
    fileFaults = []
    try {
      if (infra) rememberManagedInfra(dataDir, infra)
    } catch (error) {
      warn(`${dataDir} cannot remember which store is in use: ${messageOf(error)}`)
    }
    parts.onChange(configuration)
  }

  async function openPatiently(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const tenant = await open(configuration)
        // Meanwhile the operator may have saved another one, which counts.
        if (slot.current()) await tenant.close()
        else moveIn(tenant)
        return
      } catch (cause) {
        if (slot.current()) return
        if (!(cause instanceof UnavailableError) || attempt === ATTEMPTS) throw cause
        warn(`${cause.message}; trying again (${attempt} of ${ATTEMPTS})`)
        await sleep(retryMs)
      }
    }
  }

  /** What this change would leave behind, if there is anything to leave. */
  async function dangers(after: ResolvedConfig): Promise<string[]> {
    const tenant = slot.current()
    const before = tenant?.configuration.config
    if (tenant && before) {
      const reasons = leftBehind(before, after)
      if (reasons.length === 0) return []
      return (await tenant.gateway.backstage.store.log(0, 1)).length > 0 ? reasons : []
    }
    if (after.store.kind === 'embedded' || !(await holdsRecords({ kind: 'embedded', dataDir }))) return []
    return [`The embedded store in ${dataDir} holds records of payments, which another store does not know.`]
  }

  async function saveNow(
    values: SavedValues,
    confirmed: boolean,
    askDoubt: () => Doubt | undefined,
  ): Promise<Saved> {
    const next = loaded.read(values)
    if (!next.config) {
      return { kind: 'faulty', faults: next.faults.map(nameFault), missing: next.missing.map(nameFault) }
    }
    const reasons = confirmed ? [] : await dangers(next.config)
    if (reasons.length > 0) return { kind: 'unconfirmed', reasons }
    const names = guardedChanges(configuration.saved, values, slot.current() !== undefined)
    const doubt = names.length > 0 ? askDoubt() : undefined
    if (doubt) return { kind: 'unproven', names, doubt }
    let tenant: Tenant
    try {
      tenant = await open(next)
    } catch (error) {
      if (error instanceof ConfigError)
        return { kind: 'faulty', faults: error.faults.map(nameFault), missing: [] }
      return {
        kind: 'failed',
        error: `The gateway could not start: ${messageOf(error)}. Nothing has changed.`,
      }
    }
    try {
      writeConfigFile(dataDir, values)
    } catch (error) {
      await tenant.close()
      const path = configFilePath(dataDir)
      return { kind: 'failed', error: `${path} cannot be written: ${messageOf(error)}. Nothing has changed.` }
    }
    moveIn(tenant)
    return { kind: 'saved', url: next.config.baseUrl }
  }

  return {
    slot,
    phase: () => {
      if (slot.current()) return 'live'
      return configuration.config && fileFaults.length === 0 ? 'starting' : 'setup'
    },
    configuration: () => configuration,
    fileFaults: () => fileFaults,
    async settled(limitMs) {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, limitMs)
      })
      await Promise.race([over, late])
      clearTimeout(timer)
    },
    async start() {
      if (!configuration.config || fileFaults.length > 0) return settle()
      try {
        await openPatiently()
      } catch (error) {
        settle()
        if (!(error instanceof ConfigError)) throw error
        const isSaved = (fault: string) => {
          const { name } = nameFault(fault)
          return name !== null && configuration.saved[name] !== undefined && !isSet(name, loaded.environment)
        }
        if (!error.faults.every(isSaved)) throw error
        fileFaults = [...error.faults]
      }
    },
    save(values, confirmed, doubt) {
      // One after the other: two gateways that start at once could not both be the next one.
      const saved = turn.then(() => saveNow(values, confirmed, doubt))
      turn = saved.catch(() => {})
      return saved
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
