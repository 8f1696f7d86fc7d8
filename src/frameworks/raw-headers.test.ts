import { expect, test } from 'vitest'
import { headersFrom, recordFrom } from './raw-headers.ts'

test('headers as a record are what Fetch would make of them', () => {
  const raw = [
    ...['Accept', 'a', 'X-Twice', '1', 'x-twice', '2', 'Cookie', 'a=1', 'cookie', 'b=2'],
    ...['constructor', 'c', ':path', '/'],
  ]
  expect(recordFrom(raw)).toEqual(Object.fromEntries(headersFrom(raw)))
  expect(recordFrom(raw)).toEqual({ accept: 'a', 'x-twice': '1, 2', cookie: 'a=1; b=2', constructor: 'c' })
})
