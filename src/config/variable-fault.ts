import { catalogWarnings } from './catalog-warnings.ts'
import { VARIABLE_LABELS, VARIABLES } from './from-env.ts'
import { networkVariable } from './network-variables.ts'
import type { LabelName } from './options.ts'
import type { ResolvedConfig } from './resolved-config.ts'
import { SERVER_VARIABLES } from './server-variables.ts'

/** A fault and the variable that it is about; null if it is about no single variable. */
export interface Fault {
  name: string | null
  message: string
}

/** Finds the variable in the message, which begins with its name or with `NAME_FILE`. */
export function variableFault(message: string): Fault {
  const [word = ''] = /^[A-Z][A-Z0-9_]*/.exec(message) ?? []
  const known = (name: string) =>
    Object.hasOwn(VARIABLES, name) ||
    Object.hasOwn(SERVER_VARIABLES, name) ||
    networkVariable(name) !== undefined
  const name = [word, word.replace(/_FILE$/, '')].find(known)
  return { name: name ?? null, message }
}

/** What is allowed, but sells nothing or does nothing as it stands; each line begins with the name of its variable. */
export function variableWarnings({
  backend,
  ...catalog
}: Pick<ResolvedConfig, 'plans' | 'routes' | 'backend'>): string[] {
  const label = (option: LabelName) => VARIABLE_LABELS[option] ?? option
  const idle = backend.kind === 'embedded' ? (backend.idle ?? []) : []
  const why = `has no effect without ${label('proxyTo')}: set that as well, or take this out.`
  return [...catalogWarnings(catalog, label), ...idle.map((name) => `${label(`proxyTo.${name}`)} ${why}`)]
}
