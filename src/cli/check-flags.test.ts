import { expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { checkFlags, SEVERAL } from './check-flags.ts'
import { json, optional } from './command-args.ts'
import { readImportFlags } from './import-flags.ts'

const ARGS = {
  url: { type: 'positional', required: true, description: 'a paid call' },
  'max-amount': optional('the most that it may cost', 'dollars'),
  'allow-host': optional('again for another', `host${SEVERAL}`),
  json,
} as const

function faultsOf(...words: string[]): readonly string[] {
  try {
    checkFlags(words, ARGS)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

test('an option with two values is refused, however it is written: the last would count', () => {
  const twice = ['--max-amount is given more than once; give it one value.']
  expect(faultsOf('u', '--max-amount', '$0.001', '--max-amount', '$5')).toEqual(twice)
  expect(faultsOf('--max-amount=$0.001', 'u', '--max-amount', '$5')).toEqual(twice)
  expect(faultsOf('u', '--max-amount', '$5', '--max-amount=$5')).toEqual(twice)
})

test('what may be repeated may, and a switch says the same twice', () => {
  expect(faultsOf('u', '--allow-host', 'a', '--allow-host=b', '--json', '--json')).toEqual([])
  expect(faultsOf('u', '--max-host', 'a', '--max-host', 'b')).toHaveLength(2)
})

test('two prices for all routes are refused, and one for all beside one for some is not', () => {
  expect(() => readImportFlags(['--price', '$0.01', '--price=$0.05'])).toThrow(/two prices for all/)
  expect(readImportFlags(['--price', '$0.01', '--price', 'GET /a=$0.05']).prices).toHaveLength(1)
})

test('of the prices and free routes that fit one route the last wins, in whatever order they are given', () => {
  const priceOf = (...words: string[]) => {
    const { prices } = readImportFlags(words)
    return prices.findLast(({ matches }) => matches({ method: 'GET', path: '/v1/status' }))?.price
  }
  const all = ['--price', '/v1/*=$0.05']
  const one = ['--free', 'GET /v1/status']
  expect(priceOf(...all, ...one)).toEqual({ free: true })
  expect(priceOf(...one, ...all)).toEqual({ unitAmount: '$0.05' })
  expect(priceOf('--free=/v1/*', '--price=GET /v1/status=$0.05')).toEqual({ unitAmount: '$0.05' })
})
