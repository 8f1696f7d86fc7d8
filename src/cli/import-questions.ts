import { confirm, isCancel, note, select, text } from '@clack/prompts'
import { ConfigError } from '../errors.ts'
import type { PlannedRoute } from '../openapi-import/planned-route.ts'
import { type Price, readPrice } from '../openapi-import/read-price.ts'
import type { AskedPrices, ImportFlags } from './import-flags.ts'
import type { Line, Terminal } from './terminal.ts'

/** Asks for one price for all, then for single ones. */
export async function askPrices(
  { input, output }: Terminal,
  unpriced: readonly PlannedRoute[],
  flags: ImportFlags,
): Promise<AskedPrices> {
  const streams = { input, output }
  const askPrice = async (message: string): Promise<Price> => {
    const validate = (value = '') => {
      const price = readPrice(value)
      return 'fault' in price ? `It ${price.fault}.` : undefined
    }
    const price = readPrice(given(await text({ ...streams, message, placeholder: '$0.01', validate })))
    if ('fault' in price) throw new ConfigError([`The price ${price.fault}.`])
    return price
  }
  const prices = [...flags.prices]
  const count = unpriced.length === 1 ? 'the one route' : `the ${unpriced.length} routes`
  const priceForAll = await askPrice(`Price per call of ${count} without a price ("free" is possible)`)
  while (
    unpriced.length > 1 &&
    given(await confirm({ ...streams, message: 'Another price for one of them?', initialValue: false }))
  ) {
    const routeId = given(
      await select<string>({
        ...streams,
        message: 'Which route?',
        maxItems: 12,
        options: unpriced.map(({ routeId: value, method, path }) => ({ value, label: `${method} ${path}` })),
      }),
    )
    const { method, path } = unpriced.find((route) => route.routeId === routeId)!
    const price = await askPrice(`Price per call of ${method} ${path}`)
    prices.push({ matches: (route) => route.method === method && route.path === path, price })
  }
  return { prices, priceForAll }
}

export async function confirmImport({ input, output }: Terminal, lines: readonly Line[]): Promise<void> {
  const streams = { input, output }
  note(lines.map((line) => (typeof line === 'string' ? line : line.text)).join('\n'), 'Import', streams)
  if (!given(await confirm({ ...streams, message: 'Save these routes?' }))) stop()
}

function stop(): never {
  throw new ConfigError(['Stopped. Nothing was written.'])
}

function given<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) stop()
  return answer as Exclude<T, symbol>
}
