import type { GatewayOptions, LabelName, OptionName, OptionSource } from './options.ts'
import { urlFault } from './url-fault.ts'

/** Reads options one by one and collects all faults, so that a seller can fix them in one go. */
export interface OptionReader {
  readonly faults: string[]
  /** Required options that are missing. Kept apart from faults, because the setup page opens for these only. */
  readonly missing: string[]
  label(option: LabelName): string
  /** Whether the option can be set in its source: a function cannot be set in the environment. */
  settable(option: OptionName): boolean
  /** An example in the notation of the source: `SVC_NETWORK=testnet` or `network: "testnet"`. */
  example(option: LabelName, value: string | number | boolean): string
  fault(option: LabelName, fault: string): void
  /** Reports that one of these is required and missing; not if one is set but unreadable, since that has been reported already. */
  miss(oneOf: readonly OptionName[], why: string): void
  /** Whether it is set, even if its value cannot be read or used. */
  isGiven(option: OptionName): boolean
  /** Undefined if it is absent or an empty string. */
  value<N extends OptionName>(option: N): GatewayOptions[N] | undefined
  text(option: OptionName): string | undefined
  /** Several strings: an array, or one string split at `separator`. */
  texts(option: OptionName, separator: string | RegExp): string[] | undefined
  url(option: OptionName, example: string): string | undefined
  flag(option: OptionName): boolean
  callback<N extends OptionName>(option: N): GatewayOptions[N] | undefined
}

/** How a reader of one network's settings differs from that of the whole: it reports to it, and some options have other names. */
interface Within {
  reader: OptionReader
  renamed: { readonly [N in OptionName]?: string }
}

export function createOptionReader(
  options: GatewayOptions,
  { labels, faults = [], unreadable = [] }: OptionSource,
  within?: Within,
): OptionReader {
  const renamed: { readonly [name: string]: string | undefined } = within?.renamed ?? {}
  const reader: OptionReader = {
    faults: within?.reader.faults ?? [...faults],
    missing: within?.reader.missing ?? [],
    label: (option) => renamed[option] ?? labels?.[option] ?? option,
    settable: (option) => labels === undefined || labels[option] !== undefined,
    example: (option, value) => {
      const label = reader.label(option)
      return label === option || labels === undefined
        ? `${label}: ${JSON.stringify(value)}`
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
      // The URL parser ignores blanks around the text, but paths are appended to the text itself.
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
      reader.fault(
        option,
        `is ${kindOf(value)}; it must be true or false, for example ${reader.example(option, true)}`,
      )
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

/** The kind of a value, without the value itself, which may be a secret in the wrong place. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
