import type { ArgsDef } from 'citty'
import { ConfigError } from '../errors.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'

/** The hint of a positional argument that may be given more than once. */
export const SEVERAL = '...'

/** Refuses unknown options: with `--form-block` instead of `--from-block`, something else than intended would be compared. */
export function checkFlags(rawArgs: readonly string[], args: ArgsDef): void {
  const options = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const known = new Map(options.map(([name, { type }]) => [`--${name}`, type]))
  const faults: string[] = []
  let positionals = 0
  for (let at = 0; at < rawArgs.length; at++) {
    const [flag = '', value] = rawArgs[at]!.split(/=(.*)/s)
    if (!flag.startsWith('-') || flag === '-') {
      positionals += 1
      continue
    }
    const type = known.get(flag)
    if (type === undefined)
      faults.push(`There is no option ${flag}${didYouMean(flag, [...known.keys()]) || '.'}`)
    else if (type === 'boolean' && value !== undefined) faults.push(`${flag} takes no value.`)
    else if (type !== 'boolean' && value === undefined) {
      at += 1
      if (rawArgs[at] === undefined || rawArgs[at]!.startsWith('--')) faults.push(`${flag} needs a value.`)
    }
  }
  const named = Object.entries(args).filter(([, { type }]) => type === 'positional')
  const wanted = named.map(([, arg]) => arg)
  const several = wanted.some(({ valueHint }) => valueHint === SEVERAL)
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
