import { nearest } from '../protocol/did-you-mean.ts'
import { findNetwork } from '../protocol/networks.ts'
import { VARIABLES } from './from-env.ts'
import { NETWORK_OPTION_NAMES, NETWORK_VARIABLES, networkVariable } from './network-variables.ts'
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
    if (networkVariable(name.replace(/_FILE$/, ''))) continue
    const meant =
      meantNetwork(name) ?? nearest(name, known, name.length < SHORT ? 1 : OURS.test(name) ? 4 : 2)
    if (meant === undefined && !OURS.test(name)) continue
    // If the right variable is set as well, this one belongs to another program.
    if (meant !== undefined && isSet(meant.replace(/_FILE$/, ''), env)) continue
    lines.push(
      `${name} is set, and nothing reads it${meant === undefined ? '.' : `; did you mean ${meant}?`}`,
    )
  }
  return lines
}

/** `RPC_URL_POLYGON` and `RPC_ULR_137` mean `RPC_URL_137`. */
function meantNetwork(name: string): string | undefined {
  const plain = NETWORK_OPTION_NAMES.map((option) => NETWORK_VARIABLES[option].variable)
  const [, typed = '', chainId] = /^([A-Z_]+)_([1-9]\d*)$/.exec(name) ?? []
  const meant = nearest(typed, plain, 2)
  if (chainId !== undefined && meant !== undefined) return `${meant}_${chainId}`
  for (const variable of plain) {
    if (!name.startsWith(`${variable}_`)) continue
    const network = findNetwork(
      name
        .slice(variable.length + 1)
        .toLowerCase()
        .replaceAll('_', '-'),
    )
    if (network) return `${variable}_${network.chainId}`
  }
  return undefined
}
