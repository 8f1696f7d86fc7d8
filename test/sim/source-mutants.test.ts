import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MUTANTS } from './mutants.ts'
import { SOURCE_MUTANTS } from './source-mutants.ts'

test.each(SOURCE_MUTANTS)('$name: its fragment is in the source, once', ({ file, from, also }) => {
  const source = readFileSync(new URL(`../../src/${file}.ts`, import.meta.url), 'utf8')
  for (const fragment of also ? [from, also.from] : [from]) {
    expect(source.split(fragment).length - 1, fragment).toBe(1)
  }
})

test('there are at least 25 money bugs, each under a name of its own', () => {
  const names = [...MUTANTS, ...SOURCE_MUTANTS].map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(25)
})
