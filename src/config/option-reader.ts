import type { GatewayOptions, LabelName, OptionName, OptionSource } from './options.ts'
import { urlFault } from './url-fault.ts'

/** Reads options one by one and gathers what is wrong, so that a seller mends everything in one go. */
export interface OptionReader {
  readonly faults: string[]
  /** Required and absent. Kept apart: a server opens its setup page for these and only for these. */
  readonly missing: string[]
  label(option: LabelName): string
  /** Can it be set where these options come from? A function cannot come from the environment. */
  settable(option: OptionName): boolean
  /** An example in the place where the seller writes it: `SVC_NETWORK=testnet` or `network: "testnet"`. */
  example(option: LabelName, value: string | number): string
  fault(option: LabelName, fault: string): void
  /** One of these is required and none is there. Says nothing when one is there but unreadable: that is told already. */
  miss(oneOf: readonly OptionName[], why: string): void
  /** Something was said of it, even if it cannot be read or used. */
  isGiven(option: OptionName): boolean
  /** Undefined when absent or the empty text. */
  value<N extends OptionName>(option: N): GatewayOptions[N] | undefined
  text(option: OptionName): string | undefined
  /** One text or several: an array, or one text cut by `separator`. */
  texts(option: OptionName, separator: string | RegExp): string[] | undefined
  url(option: OptionName, example: string): string | undefined
  flag(option: OptionName): boolean
  callback<N extends OptionName>(option: N): GatewayOptions[N] | undefined
}

export function createOptionReader(
  options: GatewayOptions,
  { labels, faults = [], unreadable = [] }: OptionSource,
): OptionReader {
  const reader: OptionReader = {
    faults: [...faults],
    missing: [],
    label: (option) => labels?.[option] ?? option,
    settable: (option) => labels === undefined || labels[option] !== undefined,
    example: (option, value) => {
      const label = labels?.[option]
      return label === undefined
        ? `${option}: ${JSON.stringify(value)}`
        : `${label.replace(/_FILE$/, '')}=${value}`
    },
    fault(option, fault) {
      reader.faults.push(`${reader.label(option)} ${fault}`)
    },
    miss(oneOf, why) {
      if (oneOf.some((option) => unreadable.includes(option))) return
      const named = oneOf.filter(reader.settable).map(reader.label)
      const list = named.length > 1 ? `${named.slice(0, -1).join(', ')} or ${named.at(-1)}` : named[0]
      reader.missing.push(`${list} is missing; ${why}`)
    },
    isGiven(option) {
      const value: unknown = reader.value(option)
      const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0)
      return !isEmpty || unreadable.includes(option)
    },
    value(option) {
      const value: unknown = options[option]
      return value === null || value === '' ? undefined : options[option]
    },
    text(option) {
      const value: unknown = reader.value(option)
      if (value === undefined || typeof value === 'string') return value
      reader.fault(option, `is ${kindOf(value)}; it must be a text.`)
      return undefined
    },
    texts(option, separator) {
      const value: unknown = reader.value(option)
      if (value === undefined) return undefined
      const list: unknown[] =
        typeof value === 'string' ? value.split(separator) : Array.isArray(value) ? value : [value]
      if (list.length > 0 && list.every((item) => typeof item === 'string'))
        return list.map((item) => item.trim())
      reader.fault(option, 'must be a text or a list of texts.')
      return undefined
    },
    url(option, example) {
      // The parser forgives blanks around a URL; appending a path to it would not.
      const text = reader.text(option)?.trim()
      if (text === undefined) return undefined
      const fault = urlFault(text)
      if (fault === undefined) return text
      reader.fault(option, `${fault}, for example ${reader.example(option, example)}`)
      return undefined
    },
    flag(option) {
      const value: unknown = reader.value(option) ?? false
      if (typeof value === 'boolean') return value
      reader.fault(option, `is ${kindOf(value)}; it must be true or false.`)
      return false
    },
    callback(option) {
      const value = reader.value(option)
      if (value === undefined || typeof value === 'function') return value
      reader.fault(option, `is ${kindOf(value)}; it must be a function.`)
      return undefined
    },
  }
  return reader
}

/** What a value is, without the value: it may be a secret in the wrong place. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
