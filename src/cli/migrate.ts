import { overSaved, readConfigFile } from '../config/config-file.ts'
import { readVariable } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { readText } from '../server/load-configuration.ts'
import { migrate } from '../server/migrate.ts'
import type { Report, Terminal } from './terminal.ts'
import { startWaiting } from './waiting.ts'

/** Brings the tables up to date in the database that the environment or the saved file names. */
export async function migrateTables(terminal: Terminal, json: boolean): Promise<Report> {
  const { env } = terminal
  const folder = readVariable('DATA_DIR', env, readText)
  const { values } = readConfigFile(folder && 'text' in folder ? folder.text : './data')
  const url = readVariable('DATABASE_URL', overSaved(env, values), readText)
  if (url && 'fault' in url) throw new ConfigError([`${url.label} ${url.fault}`])
  const waiting = await startWaiting(terminal, json, 'Migrating')
  try {
    await migrate({ DATABASE_URL: url?.text })
  } finally {
    waiting.end()
  }
  return { lines: ['The tables are up to date.'], json: { ok: true } }
}
