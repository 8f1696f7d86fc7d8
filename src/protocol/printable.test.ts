import { describe, expect, test } from 'vitest'
import { printable, printableLine } from './printable.ts'

describe('text of strangers on a terminal', () => {
  test.each([
    ['\u001b[2J\u001b]0;owned\u0007', '\\u001b[2J\\u001b]0;owned\\u0007'],
    ['safe\rpaid', 'safe\\u000dpaid'],
    ['\u009b31mred', '\\u009b31mred'],
    ['a\u007fb\u0000', 'a\\u007fb\\u0000'],
    ['\u202etxt.exe', '\\u202etxt.exe'],
    ['für 1 € ✓ 🐢', 'für 1 € ✓ 🐢'],
  ])('%j is shown as %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
    expect(printableLine(text)).toBe(shown)
  })

  test('line breaks and tabs stay, unless it must be one line', () => {
    expect(printable('a\n\tb')).toBe('a\n\tb')
    expect(printableLine('a\n\tb')).toBe('a\\u000a\\u0009b')
  })

  test('JSON stays the same JSON', () => {
    const value = { text: 'a\u001b\u009b\u202e\n\u2028' }
    expect(JSON.parse(printable(JSON.stringify(value, null, 2)))).toEqual(value)
  })
})
