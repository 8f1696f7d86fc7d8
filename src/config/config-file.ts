import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { didYouMean } from '../protocol/did-you-mean.ts'
import { syncFolder } from '../sync-folder.ts'
import { exampleOf } from './check-catalog.ts'
import { VARIABLES } from './from-env.ts'
import { jsonFaultAt, placeOf } from './json-fault.ts'
import { networkVariable, networkVariablesAmong } from './network-variables.ts'
import { kindOf } from './option-reader.ts'
import { type Env, isSet } from './read-variable.ts'
import { SERVER_VARIABLES } from './server-variables.ts'

/** Values by the names of their variables: strings, except PLANS and ROUTES, which are lists. */
export type SavedValues = Readonly<Record<string, string | readonly unknown[]>>

export interface ConfigFile {
  values: SavedValues
  /** Faults of the file itself; its values are checked later, together with the environment. */
  faults: string[]
}

const FORMAT = 1
export const LISTS: ReadonlySet<string> = new Set(['PLANS', 'ROUTES'])

/** Every variable that the setup page may save, besides those of single networks. DATA_DIR cannot be one, because it is the folder of the file. */
export const SAVED_NAMES: readonly string[] = [
  ...Object.keys(VARIABLES).filter((name) => name !== 'DATA_DIR'),
  ...Object.keys(SERVER_VARIABLES).filter((name) => SERVER_VARIABLES[name]!.saved),
]

/** Whether the setup page may save it: also the variables of single networks, such as `RPC_URL_137`. */
export function isSavedName(name: string): boolean {
  return SAVED_NAMES.includes(name) || networkVariable(name) !== undefined
}

/** Every variable that may be saved; of those of single networks, the ones that these have. */
export function savedNamesWith(...sources: ReadonlyArray<Readonly<Record<string, unknown>>>): string[] {
  return [...SAVED_NAMES, ...networkVariablesAmong(sources.flatMap((source) => Object.keys(source)))]
}

export const configFilePath = (dataDir: string): string => join(dataDir, 'config.json')

/** Reads the file that the setup page saved. An invalid file is a fault, never an exception. */
export function readConfigFile(dataDir: string): ConfigFile {
  const path = configFilePath(dataDir)
  const broken = (fault: string): ConfigFile => ({ values: {}, faults: [`${path} ${fault}`] })
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    if (code === 'ENOENT' || code === 'ENOTDIR') return { values: {}, faults: [] }
    return broken(`cannot be read (${code}); give this process the right to read it.`)
  }
  const at = jsonFaultAt(text)
  // The text around the fault is not shown, since it may be a key.
  if (at !== undefined)
    return broken(`is no valid JSON at ${placeOf(text, at)}; fix it, or save again on the setup page.`)
  const { version, values } = Object(JSON.parse(text)) as { version?: unknown; values?: unknown }
  if (version !== FORMAT)
    return broken(`has version ${JSON.stringify(version) ?? 'missing'}; this program reads ${FORMAT}.`)
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    return broken(`has ${kindOf(values)} as values; it must be an object, for example {"PLANS": []}.`)
  }
  return keepKnown(path, values as Record<string, unknown>)
}

function keepKnown(path: string, found: Record<string, unknown>): ConfigFile {
  const values: Record<string, string | readonly unknown[]> = {}
  const faults: string[] = []
  for (const [name, value] of Object.entries(found)) {
    const fault = savedFault(name, value)
    if (fault === undefined) values[name] = value as string | unknown[]
    else faults.push(`${name} in ${path} ${fault}`)
  }
  return { values, faults }
}

/** Why this value cannot be saved under this name; undefined if it can. */
export function savedFault(name: string, value: unknown): string | undefined {
  if (!isSavedName(name)) return `is not a setting that can be saved${didYouMean(name, SAVED_NAMES) || '.'}`
  if (LISTS.has(name) ? Array.isArray(value) : typeof value === 'string') return undefined
  if (!LISTS.has(name)) return `is ${kindOf(value)}; it must be a text.`
  return `is ${kindOf(value)}; it must be a list, for example ${exampleOf(name === 'PLANS' ? 'plans' : 'routes')}`
}

/** Replaces the file atomically; it is readable by its owner only. */
export function writeConfigFile(dataDir: string, values: SavedValues): void {
  const path = configFilePath(dataDir)
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  try {
    const handle = openSync(draft, 'wx', 0o600)
    try {
      // Unlike one write, which stores a part where the disk gets full, this stores all of it or throws.
      writeFileSync(handle, `${JSON.stringify({ version: FORMAT, values }, null, 2)}\n`)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  // Without this, a power failure could bring the old file back after the page has said "saved".
  syncFolder(dataDir)
}

/** Whether the file holds other values than those that were read there: whoever wrote all of it now would undo a change. */
export function isChanged(dataDir: string, read: SavedValues): boolean {
  return !isDeepStrictEqual(readConfigFile(dataDir).values, read)
}

/** Writes the file unless it is changed since these values were read; then nothing is written, and this is false. */
export function replaceConfigFile(dataDir: string, read: SavedValues, values: SavedValues): boolean {
  if (isChanged(dataDir, read)) return false
  writeConfigFile(dataDir, values)
  return true
}

/** The saved values overridden by the environment: a variable that is set there, or its `NAME_FILE`, wins. */
export function overSaved(env: Env, values: SavedValues): Record<string, string | undefined> {
  const merged: Record<string, string | undefined> = { ...env }
  for (const [name, value] of Object.entries(values)) {
    if (!isSet(name, env)) merged[name] = typeof value === 'string' ? value : JSON.stringify(value)
  }
  return merged
}
