import { expect, test } from 'vitest'
import { isNestedTooDeep, MAX_JSON_DEPTH } from './json-depth.ts'

const nested = (levels: number, [open, close]: [string, string] = ['[', ']']) =>
  open.repeat(levels) + close.repeat(levels)

test('levels are counted, of arrays and of objects', () => {
  expect(isNestedTooDeep(nested(MAX_JSON_DEPTH))).toBe(false)
  expect(isNestedTooDeep(nested(MAX_JSON_DEPTH + 1))).toBe(true)
  expect(isNestedTooDeep(`${'{"a":['.repeat(101)}1${']}'.repeat(101)}`)).toBe(true)
  expect(isNestedTooDeep(`[${'[],'.repeat(1000)}0]`), 'beside each other').toBe(false)
})

test('brackets in strings are text', () => {
  expect(isNestedTooDeep(JSON.stringify({ a: '['.repeat(1000), b: `"\\${'{'.repeat(1000)}` }))).toBe(false)
  expect(isNestedTooDeep(`{"a":"\\\\",${nested(MAX_JSON_DEPTH)}`)).toBe(true)
})
