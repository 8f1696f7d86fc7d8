import { isSavedName, type SavedValues, savedFault, savedNamesWith } from '../../config/config-file.ts'
import { type Env, isSet } from '../../config/read-variable.ts'
import { isSecret } from '../../config/secret-variables.ts'
import type { Fault } from '../../config/variable-fault.ts'

/** The values that would be saved, and faults of what the form sent. */
export interface Candidate {
  values: SavedValues
  faults: Fault[]
}

/**
 * Makes the values to save from what the page sent: `values` replaces all values that are not secret, `secrets` changes
 * single secrets (null removes one, a missing one is kept). Values that the environment sets stay in the file unchanged:
 * the form cannot change them.
 */
export function candidateOf(body: Record<string, unknown>, env: Env, saved: SavedValues): Candidate {
  const faults: Fault[] = []
  const next: Record<string, string | readonly unknown[]> = {}
  const given = objectOf(body.values, 'values', faults)
  const secrets = objectOf(body.secrets, 'secrets', faults)
  for (const name of savedNamesWith(saved)) {
    const kept = isSet(name, env) || (isSecret(name) && !Object.hasOwn(secrets, name))
    if (kept && saved[name] !== undefined) next[name] = saved[name]
  }
  const take = (name: string, value: unknown, misplaced: string | undefined) => {
    const known = isSavedName(name)
    if (name === 'DATA_DIR' || (known && isSet(name, env)) || value === null || isBlank(value)) return
    const fault = (known ? misplaced : undefined) ?? savedFault(name, value)
    if (fault === undefined) next[name] = value as string | unknown[]
    else faults.push({ name: known ? name : null, message: `${name.slice(0, 64)} ${fault}` })
  }
  for (const [name, value] of Object.entries(given)) {
    take(name, value, isSecret(name) ? 'is a secret; send it among secrets.' : undefined)
  }
  for (const [name, value] of Object.entries(secrets)) {
    take(name, value, isSecret(name) ? undefined : 'is no secret; send it among values.')
  }
  return { values: next, faults }
}

const isBlank = (value: unknown): boolean =>
  (typeof value === 'string' && value.trim() === '') || (Array.isArray(value) && value.length === 0)

function objectOf(value: unknown, name: string, faults: Fault[]): Record<string, unknown> {
  if (value === undefined) return {}
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  faults.push({ name: null, message: `${name} must be an object of settings by their names.` })
  return {}
}
