import { nearest } from './did-you-mean.ts'
import { VARIABLES } from './from-env.ts'
import { type Env, isSet } from './read-variable.ts'
import { SERVER_VARIABLES } from './server-variables.ts'

/** Prefixes that other programs do not use. */
const OURS = /^SVC_/
const SHORT = 8

/**
 * Variables that look like misspelt ones of ours, one line each. At most two letters may differ, one in a short name, because
 * the environment is full of other programs' variables. Values are not shown, since they may be keys.
 */
export function misspeltVariables(env: Env): string[] {
  const names = [...Object.keys(VARIABLES), ...Object.keys(SERVER_VARIABLES)]
  const known = names.flatMap((name) => [name, `${name}_FILE`])
  const lines: string[] = []
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Z][A-Z0-9_]*$/.test(name) || known.includes(name) || !value?.trim()) continue
    const meant = nearest(name, known, name.length < SHORT ? 1 : OURS.test(name) ? 4 : 2)
    if (meant === undefined && !OURS.test(name)) continue
    // If the right variable is set as well, this one belongs to another program.
    if (meant !== undefined && isSet(meant.replace(/_FILE$/, ''), env)) continue
    lines.push(
      `${name} is set, and nothing reads it${meant === undefined ? '.' : `; did you mean ${meant}?`}`,
    )
  }
  return lines
}
