import { checkPublic } from '../checks/public/check-public.ts'
import { baseUrlFault, urlFault } from '../config/url-fault.ts'
import { ConfigError } from '../errors.ts'
import { reportOf } from './doctor.ts'
import { load } from './load.ts'
import type { Report, Terminal } from './terminal.ts'

const EXAMPLE = 'paystile doctor --public https://pay.example.com'

/** Asks the live server as directories and agents do; the exit code is 1 if one of them would reject it. */
export async function examinePublic(terminal: Terminal, given: string | undefined): Promise<Report> {
  const url = (given ?? (await load(terminal)).configuration.options.baseUrl ?? '').trim()
  const fault = urlFault(url) ?? baseUrlFault(url)
  if (fault !== undefined) throw new ConfigError([`The URL to ask ${fault}, for example: ${EXAMPLE}`])
  return reportOf(await checkPublic(url.replace(/\/+$/, '')))
}
