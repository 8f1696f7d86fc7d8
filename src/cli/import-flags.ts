import { ConfigError } from '../errors.ts'
import { type Price, readPrice } from '../openapi-import/read-price.ts'
import { type RouteMatcher, routeMatcher } from '../openapi-import/route-matcher.ts'

export interface ImportFlags {
  priceForAll: Price | undefined
  prices: Array<{ matches: RouteMatcher; price: Price }>
  skip: RouteMatcher[]
}

export type AskedPrices = Pick<ImportFlags, 'prices'> & { priceForAll: Price }

/** Reads what may be said several times: `--price`, `--free` and `--skip`. */
export function readImportFlags(rawArgs: readonly string[]): ImportFlags {
  const flags: ImportFlags = { priceForAll: undefined, prices: [], skip: [] }
  // One list in the order in which they were given: of those that fit a route the last wins.
  for (const { flag, text } of given(rawArgs, ['--free', '--price'])) {
    if (flag === '--free') {
      flags.prices.push({ matches: routeMatcher(text, flag), price: { free: true } })
      continue
    }
    const [, route, amount = text] = /^(.*\S)\s*=\s*([^=]*)$/s.exec(text) ?? []
    const price = readPrice(amount)
    if ('fault' in price) {
      throw new ConfigError([`--price ${price.fault}. In a shell, put it in single quotes: --price '$0.01'.`])
    }
    if (route === undefined) {
      // The last would count, and the first would have been meant for some.
      if (flags.priceForAll) {
        throw new ConfigError([
          "--price names two prices for all routes; name the routes of one, --price 'GET /pets/*=$0.05'.",
        ])
      }
      flags.priceForAll = price
    } else flags.prices.push({ matches: routeMatcher(route, '--price'), price })
  }
  flags.skip = given(rawArgs, ['--skip']).map(({ flag, text }) => routeMatcher(text, flag))
  return flags
}

function given(rawArgs: readonly string[], flags: readonly string[]): Array<{ flag: string; text: string }> {
  return rawArgs.flatMap((word, index) => {
    const flag = flags.find((one) => word === one || word.startsWith(`${one}=`))
    if (flag === undefined) return []
    return [{ flag, text: word === flag ? (rawArgs[index + 1] ?? '') : word.slice(flag.length + 1) }]
  })
}
