import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import rows from './rows.json' with { type: 'json' }

const here = fileURLToPath(new URL('.', import.meta.url))
const ROWS = Array.from({ length: 65 }, (_, index) => String(index + 1))
/** The attacks that every buyer's way in must withstand; HTTP has files of its own, 13 is in a2a and mcp. */
const EVERY_WAY = ['1', '2', '3', '4', '12', '14', '15', '17', '18']

/** Rows that the names of tests in this text mention: `attack 17: …`, `attack 26, 27: …`. */
function rowsIn(text: string): string[] {
  return [...text.matchAll(/['`]attack (\d+(?:, \d+)*):/g)].flatMap(([, numbers]) => numbers!.split(', '))
}
const textOf = (file: string) => readFileSync(`${here}${file}`, 'utf8')

test('every row of the attack table has a name, and a test that mentions it', () => {
  expect(Object.keys(rows)).toEqual(ROWS)
  const files = readdirSync(here).filter((name) => name.endsWith('.test.ts'))
  const tested = new Set(files.map(textOf).flatMap(rowsIn))
  expect(ROWS.filter((row) => !tested.has(row))).toEqual([])
  expect([...tested].filter((row) => !ROWS.includes(row))).toEqual([])
})

test('A2A and MCP withstand what HTTP does', () => {
  const tested = new Set(rowsIn(textOf('every-way.test.ts')))
  expect(EVERY_WAY.filter((row) => !tested.has(row))).toEqual([])
  for (const file of ['a2a.test.ts', 'mcp.test.ts']) expect(rowsIn(textOf(file))).toContain('13')
})
