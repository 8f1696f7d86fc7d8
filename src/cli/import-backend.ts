import type { SavedValues } from '../config/config-file.ts'
import { type Env, isSet } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { chooseServer } from '../openapi-import/choose-server.ts'
import type { Description } from '../openapi-import/read-description.ts'

/** Where calls go, and whether that is saved: what the seller has set stays, unless --server says otherwise. */
export interface ImportBackend {
  now: string | undefined
  save: string | undefined
  /** The server of the description; undefined if it names none that can be used. */
  described: string | undefined
  note?: string
}

export function backendOf(
  description: Description,
  wanted: string | undefined,
  env: Env,
  saved: SavedValues,
): ImportBackend {
  const set = isSet('PROXY_TO_BASE_URL', env)
  if (set && wanted !== undefined) {
    throw new ConfigError([
      'PROXY_TO_BASE_URL is set in the environment and would override --server; leave one of them out.',
    ])
  }
  const chosen = chooseServer(description, wanted)
  const described = 'fault' in chosen ? undefined : chosen.baseUrl
  if (set) return { now: undefined, save: undefined, described }
  const known = typeof saved.PROXY_TO_BASE_URL === 'string' ? saved.PROXY_TO_BASE_URL : undefined
  if (known !== undefined && wanted === undefined) {
    const note = `The backend stays ${known}; --server takes another.`
    return { now: known, save: undefined, described, ...(described !== known && { note }) }
  }
  if ('fault' in chosen) throw new ConfigError([chosen.fault])
  return {
    now: chosen.baseUrl,
    save: chosen.baseUrl,
    described,
    ...(chosen.note !== undefined && { note: chosen.note }),
  }
}
