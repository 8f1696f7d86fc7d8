import { randomBytes } from 'node:crypto'
import {
  configFilePath,
  LISTS,
  readConfigFile,
  type SavedValues,
  savedNamesWith,
} from '../config/config-file.ts'
import { jsonFaultAt, placeOf } from '../config/json-fault.ts'
import { type Configuration, readConfiguration } from '../config/read-configuration.ts'
import { type Env, isSet, readVariable } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { readText } from '../server/load-configuration.ts'
import { inUse, mayHoldRecords, recordsLeftBehind } from '../server/records-left-behind.ts'
import { INIT_FLAGS } from './init-flags.ts'
import { saveValues } from './save-values.ts'
import type { Report, Terminal } from './terminal.ts'

type Values = Record<string, string | readonly unknown[]>
type InitArgs = Readonly<Record<string, string | boolean | undefined>>

/** Writes the configuration that `paystile serve` reads, from answers, flags and the environment. */
export async function initialize(terminal: Terminal, args: InitArgs): Promise<Report> {
  const alone = args.yes === true || args.json === true
  const env: Env =
    typeof args['data-dir'] === 'string'
      ? { ...terminal.env, DATA_DIR: args['data-dir'], DATA_DIR_FILE: '' }
      : terminal.env
  const folder = readVariable('DATA_DIR', env, readText)
  const dataDir = folder && 'text' in folder ? folder.text : './data'
  const { values: saved, faults } = readConfigFile(dataDir)
  if (faults.length > 0) throw new ConfigError(faults)
  const said = fromFlags(args)
  let values: Values = { ...saved, ...(alone ? fromEnvironment(env) : {}), ...said }
  if (!alone) {
    if (!terminal.input.isTTY || !terminal.output.isTTY) {
      throw new ConfigError([
        'init asks questions, and this is no terminal: add --yes, and say all by flags or environment variables.',
      ])
    }
    const { askValues } = await import('./init-questions.ts')
    values = await askValues(terminal, values, (next) => check(env, next))
  }
  const generated = generate(values, env)
  const { config, missing, faults: wrong } = check(env, values)
  if (!config) throw new ConfigError([...wrong, ...missing, 'Nothing was written.'])
  if (args.force !== true) await refuseLoss(check(env, saved), config, dataDir)
  saveValues(dataDir, saved, values)
  return describe(
    configFilePath(dataDir),
    dataDir,
    Object.keys(values),
    generated,
    config.networks.some(({ refundWalletPrivateKey }) => refundWalletPrivateKey === null),
  )
}

/** The configuration of a server with these values in its file and no variables in its environment other than `NAME_FILE`s. */
function check(env: Env, values: SavedValues): Configuration {
  const beside = Object.entries(env).filter(([name]) => values[name] === undefined)
  return readConfiguration(Object.fromEntries(beside), values, readText)
}

function fromFlags(args: InitArgs): Values {
  const given = Object.entries(INIT_FLAGS).flatMap(([flag, { name }]) => {
    const text = args[flag]
    return typeof text === 'string' ? [{ name, label: `--${flag}`, text }] : []
  })
  return parsed(given)
}

/** Values of the environment, without `NAME_FILE`s: those files are read at each start, so their content is not saved. */
function fromEnvironment(env: Env): Values {
  return parsed(
    savedNamesWith(env).flatMap((name) => {
      const text = env[name]?.trim()
      return text ? [{ name, label: name, text }] : []
    }),
  )
}

function parsed(given: ReadonlyArray<{ name: string; label: string; text: string }>): Values {
  const values: Values = {}
  const faults: string[] = []
  for (const { name, label, text } of given) {
    const at = LISTS.has(name) ? jsonFaultAt(text) : undefined
    if (at !== undefined) faults.push(`${label} is no valid JSON at ${placeOf(text, at)}.`)
    else if (!LISTS.has(name)) values[name] = text
    else {
      const list: unknown = JSON.parse(text)
      if (Array.isArray(list)) values[name] = list
      else faults.push(`${label} is no list; for example '[{"planId":"basic","unitAmount":"$1.00"}]'.`)
    }
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return values
}

/** Generates missing secrets that give no access to money and need not be remembered. */
function generate(values: Values, env: Env): string[] {
  const has = (name: string) => values[name] !== undefined || isSet(name, env)
  const issued = ['TOKEN_SECRET', 'TOKEN_PRIVATE_KEY', 'ISSUE_TOKEN_API'].some(has)
  const wanted = [
    ...(has('PLANS') && !issued ? ['TOKEN_SECRET'] : []),
    ...(has('ADMIN_TOKEN') ? [] : ['ADMIN_TOKEN']),
  ]
  for (const name of wanted) values[name] = randomBytes(32).toString('hex')
  return wanted
}

async function refuseLoss(
  saved: Configuration,
  after: NonNullable<Configuration['config']>,
  dataDir: string,
): Promise<void> {
  const before = inUse(saved, dataDir)
  const reasons = recordsLeftBehind(before, after)
  if (reasons.length === 0) return
  if (await mayHoldRecords(before.store))
    throw new ConfigError([...reasons, 'Nothing was written. Add --force if that is what you want.'])
}

function describe(
  path: string,
  dataDir: string,
  names: string[],
  generated: string[],
  noRefunds: boolean,
): Report {
  const serve = dataDir === './data' ? '' : `DATA_DIR=${dataDir} `
  const lines = [
    `${path} is written, readable by you alone: ${names.join(', ')}.`,
    ...(generated.length > 0 ? [`Generated, and only there: ${generated.join(', ')}.`] : []),
    ...(generated.includes('ADMIN_TOKEN')
      ? ['ADMIN_TOKEN opens the dashboard at /admin, and lets this command ask a running server.']
      : []),
    ...(noRefunds
      ? [
          'Refunds wait until REFUND_WALLET_PRIVATE_KEY is set, normally to the key of the wallet that is paid.',
        ]
      : []),
    `Next: ${serve}paystile doctor, then ${serve}paystile serve. A server that runs reads it at its next start.`,
  ]
  return { lines, json: { ok: true, path, saved: names, generated } }
}
