import { didYouMean } from './did-you-mean.ts'

/**
 * Why this cannot be the options of a function; empty if it can. A misspelt option would be ignored, and what it was to limit
 * or to protect stand open. What is undefined was not given.
 */
export function optionFaults(given: unknown, known: readonly string[]): string[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || 'then' in given) {
    return [`the options are ${kindOf(given)}, and not an object with any of ${known.join(', ')}.`]
  }
  return Object.entries(given).flatMap(([name, value]) =>
    value === undefined || known.includes(name)
      ? []
      : [`${name.slice(0, 40)} is not an option${didYouMean(name, known) || '.'}`],
  )
}

/** Not the value itself, which may be a secret. */
function kindOf(given: unknown): string {
  if (given === null || given === undefined) return String(given)
  if (Array.isArray(given)) return 'a list'
  return typeof given === 'object' ? 'a promise' : `a ${typeof given}`
}
