import type { ArgsDef } from 'citty'
import { ConfigError } from '../errors.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'

/** The hint of an argument ends with it, if it may be given more than once. */
export const SEVERAL = '...'

/**
 * Refuses unknown options: with `--form-block` instead of `--from-block`, something else than intended would be compared.
 * The same of an option with two values: the last would count, and a limit at the beginning of a line would be none.
 */
export function checkFlags(rawArgs: readonly string[], args: ArgsDef): void {
  const options = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const known = new Map(options.map(([name, arg]) => [`--${name}`, arg]))
  const given = new Set<string>()
  const faults: string[] = []
  let positionals = 0
  for (let at = 0; at < rawArgs.length; at++) {
    const [flag = '', value] = rawArgs[at]!.split(/=(.*)/s)
    if (!flag.startsWith('-') || flag === '-') {
      positionals += 1
      continue
    }
    const arg = known.get(flag)
    const type = arg?.type
    if (arg && given.has(flag) && type !== 'boolean' && !arg.valueHint?.endsWith(SEVERAL))
      faults.push(`${flag} is given more than once; give it one value.`)
    given.add(flag)
    if (!arg) faults.push(`There is no option ${flag}${didYouMean(flag, [...known.keys()]) || '.'}`)
    else if (type === 'boolean' && value !== undefined) faults.push(`${flag} takes no value.`)
    else if (type !== 'boolean' && value === undefined) {
      at += 1
      if (rawArgs[at] === undefined || rawArgs[at]!.startsWith('--')) faults.push(`${flag} needs a value.`)
    }
  }
  const named = Object.entries(args).filter(([, { type }]) => type === 'positional')
  const wanted = named.map(([, arg]) => arg)
  const several = wanted.some(({ valueHint }) => valueHint?.endsWith(SEVERAL))
  const [missing] = named.slice(positionals).filter(([, { required }]) => required !== false)
  if (faults.length === 0 && missing) {
    const [name, { description = '' }] = missing
    faults.push(`An argument is missing, ${name.toUpperCase()}: ${description}`)
  }
  if (faults.length === 0 && !several && positionals > wanted.length) {
    faults.push(`There is an argument too many: ${rawArgs.join(' ')}`)
  }
  if (faults.length > 0) throw new ConfigError(faults)
}
