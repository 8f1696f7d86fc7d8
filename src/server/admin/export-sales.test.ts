import { expect, test } from 'vitest'
import { csvField } from './export-sales.ts'

test.each([
  ['=HYPERLINK("http://evil")', '"\'=HYPERLINK(""http://evil"")"'],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', '\\u0009=1'],
  [' =1', " '=1"],
  ['x;=1+1', "x;'=1+1"],
  ['x; @SUM(A1);-2', "x; '@SUM(A1);'-2"],
  ['a;b', 'a;b'],
  ['\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
  ['a\u0000b\u009b', 'a\\u0000b\\u009b'],
  ['＝1', "'＝1"],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\r\nlines', 'two\\u000d\\u000alines'],
  ['0xabc', '0xabc'],
])('%j is written %s', (text, field) => {
  expect(csvField(text)).toBe(field)
})

test('a missing value is an empty field, and a flag is true or false', () => {
  expect([csvField(null), csvField(true)]).toEqual(['', 'true'])
})
