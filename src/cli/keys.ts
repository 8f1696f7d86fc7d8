import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { configFilePath, isSavedName, readConfigFile } from '../config/config-file.ts'
import { VARIABLES, withLineBreaks } from '../config/from-env.ts'
import { isSet, readVariable } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'
import { readText } from '../server/load-configuration.ts'
import { syncFolder } from '../sync-folder.ts'
import { SECRET_KEY_FILE } from './backup.ts'
import { ROTATABLE } from './keys-rotation.ts'
import { saveValues } from './save-values.ts'
import type { Report, Terminal } from './terminal.ts'

interface Found {
  value: string
  /** Shown to people. */
  place: string
  /** Stores another value; absent where this command cannot. */
  write?(value: string): void
}

/** Lists what can be rotated: where it is set, and the ids of its keys. Never a secret. */
export async function listKeys({ env }: Terminal): Promise<Report> {
  const keys = Object.entries(ROTATABLE).flatMap(([name, { idsOf, means }]) => {
    const found = find(name, env)
    return found ? [{ name, place: found.place, ids: idsOf(found.value, name), rotation: means }] : []
  })
  if (keys.length === 0) return { lines: ['No secret that can be rotated is set here.'], json: { keys } }
  const width = Math.max(...keys.map(({ name }) => name.length))
  const lines = keys.map(({ name, place, ids }) => {
    const [newest, ...older] = ids
    const count = older.length === 0 ? '' : `, older: ${older.join(', ')}`
    return `${name.padEnd(width)}  ${place}${newest === undefined ? '' : `  key ${newest}${count}`}`
  })
  return { lines, json: { keys } }
}

export interface RotateArgs {
  name: string
  print: boolean
  out: string | undefined
}

/** Makes a new key, keeps the older ones for what was made before, and stores both where the value is, or as asked. */
export async function rotateKey({ env }: Terminal, { name, print, out }: RotateArgs): Promise<Report> {
  const kind = Object.hasOwn(ROTATABLE, name) ? ROTATABLE[name] : undefined
  if (!kind) throw new ConfigError([unknownName(name)])
  if (print && out !== undefined) throw new ConfigError(['--print and --out are both given; keep one.'])
  const found = find(name, env)
  if (!found) throw new ConfigError([`${name} is not set, so there is nothing to rotate.`])
  // Names a value that cannot be read.
  kind.idsOf(found.value, name)
  const value = kind.next(found.value, name)
  const ids = kind.idsOf(value, name)
  const json = { ok: true, name, ids, rotation: kind.means }
  const key = ids[0] === undefined ? '' : ` Its newest key is ${ids[0]}.`
  const means = `Then ${kind.means}.`
  if (print) {
    return { lines: [value.includes('\n') ? value : `${name}=${value}`], json: { ...json, value } }
  }
  if (out !== undefined) {
    const path = resolve(out)
    writeNew(path, value)
    const lines = [
      `${path} is written, readable by you alone.${key}`,
      `Set ${name}_FILE to it in place of ${found.place}, and restart the server. ${means}`,
    ]
    return { lines, json: { ...json, out: path } }
  }
  if (!found.write) {
    throw new ConfigError([
      `${name} comes from ${found.place}, which this command does not change: add --out FILE (for ${name}_FILE) or --print.`,
    ])
  }
  found.write(value)
  return {
    lines: [`${found.place} is written.${key}`, `Restart the server. ${means}`],
    json: { ...json, place: found.place },
  }
}

function unknownName(name: string): string {
  if (/WALLET/.test(name)) {
    return `${name} is a wallet, which is not rotated but replaced: see "Rotation" in docs/production.md.`
  }
  const names = Object.keys(ROTATABLE)
  return `${name} cannot be rotated${didYouMean(name, names) || `; what can: ${names.join(', ')}.`}`
}

/** The secret as the server reads it. */
function find(name: string, env: Terminal['env']): Found | undefined {
  const found = findText(name, env)
  return found && VARIABLES[name]?.kind === 'PEM' ? { ...found, value: withLineBreaks(found.value) } : found
}

function findText(name: string, env: Terminal['env']): Found | undefined {
  const folder = readVariable('DATA_DIR', env, readText)
  const dataDir = folder && 'text' in folder ? folder.text : './data'
  if (isSet(name, env)) {
    const variable = readVariable(name, env, readText)!
    if ('fault' in variable) throw new ConfigError([`${variable.label} ${variable.fault}`])
    return { value: variable.text, place: variable.label === name ? 'the environment' : variable.label }
  }
  const { values, faults } = readConfigFile(dataDir)
  if (faults.length > 0) throw new ConfigError(faults)
  const saved = isSavedName(name) ? values[name] : undefined
  if (typeof saved === 'string' && saved.trim() !== '') {
    return {
      value: saved.trim(),
      place: configFilePath(dataDir),
      write: (value) => saveValues(dataDir, values, { ...values, [name]: value }),
    }
  }
  const file = join(dataDir, SECRET_KEY_FILE)
  if (name !== 'SVC_SECRET_KEY' || !existsSync(file)) return undefined
  return {
    value: readFileSync(file, 'utf8').trim(),
    place: file,
    write(value) {
      const draft = `${file}.${process.pid}.${randomBytes(6).toString('hex')}`
      try {
        writeNew(draft, value)
        renameSync(draft, file)
        syncFolder(dataDir)
      } finally {
        rmSync(draft, { force: true })
      }
    },
  }
}

function writeNew(path: string, value: string): void {
  try {
    writeFileSync(path, `${value}\n`, { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError([
      code === 'EEXIST'
        ? `${path} exists; give a name that is not taken.`
        : `${path} cannot be written (${code}).`,
    ])
  }
}
