import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jsonFaultAt, placeOf } from './json-fault.ts'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('jsonFaultAt', () => {
  test('agrees with JSON.parse on values that are complete, cut off or changed', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', ',', '}', '"', 'x', '\n', '\\', '0', ' '),
        (json, at, put) => {
          const index = at % (json.length + 1)
          for (const text of [json, json.slice(0, index), json.slice(0, index) + put + json.slice(index)]) {
            expect(jsonFaultAt(text) === undefined).toBe(isJson(text))
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  test.each([
    ['[abc]', 1],
    ['[{"a":1,}]', 8],
    ['{"a"', 4],
    ['[1,2', 4],
    ['', 0],
    ["[{'planId':1}]", 2],
    ['[] []', 3],
    ['{"a":"b\n"}', 5],
    [`${'['.repeat(101)}1${']'.repeat(101)}`, 101],
  ])('%j stops being JSON at %i', (text, at) => {
    expect(jsonFaultAt(text)).toBe(at)
  })

  test('a place counts lines and columns from 1', () => {
    expect(placeOf('[\n  {x', 5)).toBe('line 2, column 4')
    expect(placeOf('[', 0)).toBe('line 1, column 1')
  })
})
