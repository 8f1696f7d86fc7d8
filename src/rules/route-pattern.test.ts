import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseResourcePath } from './resource-path.ts'
import { matchPattern, overlaps, parsePattern, patternFault } from './route-pattern.ts'

const match = (pattern: string, path: string) => matchPattern(parsePattern(pattern), path)

describe('route patterns', () => {
  test('a parameter stands for exactly one segment, decoded once', () => {
    expect(match('/weather/:city', '/weather/London')).toEqual({ city: 'London' })
    expect(match('/weather/:city', '/weather/S%C3%A3o%20Paulo')).toEqual({ city: 'São Paulo' })
    expect(match('/a/:b/c/:d', '/a/1/c/2')).toEqual({ b: '1', d: '2' })
    expect(match('/', '/')).toEqual({})
  })
  test.each([
    '/weather',
    '/weather/',
    '/weather/London/tomorrow',
    '/Weather/London',
    '/weather/a%2Fb',
    '/weather/a%5Cb',
    '/weather/%2e%2e',
    '/weather/%252e%252e',
    '/weather/%00',
    '/weather/%E0%A4%A',
  ])('%s is not /weather/:city', (path) => expect(match('/weather/:city', path)).toBeUndefined())

  test.each([
    'weather',
    '/a//b',
    '/a/../b',
    '/:',
    '/:1a',
    '/:a/:a',
    '/a*',
    '/{a}',
    '/a b',
    '/file/:name.json',
    '/a?b',
  ])('%s is refused as a pattern', (path) => expect(patternFault(path)).toBeDefined())

  test('overlap means that one path fits both', () => {
    const pair = (a: string, b: string) => overlaps(parsePattern(a), parsePattern(b))
    expect(pair('/users/:id', '/users/me')).toBe(true)
    expect(pair('/:a/x', '/y/:b')).toBe(true)
    expect(pair('/users/:id', '/users/:id/posts')).toBe(false)
    expect(pair('/a/:x', '/b/:x')).toBe(false)
  })
})

describe('resource paths', () => {
  test.each(['/a', '/a?b=c&d=%20', '/a/b%20c', '/', "/it's", '/a?x=/../y'])(
    '%s is taken as it is',
    (path) => {
      const parsed = parseResourcePath(path)
      expect(parsed && parsed.pathname + parsed.search).toBe(path)
    },
  )
  test.each([
    '',
    'a',
    '//evil.com/a',
    '/\\evil.com',
    '\\\\evil.com',
    'http://evil.com/',
    '.evil.com',
    '@evil.com/',
    ':8080/',
    '/../a',
    '/a/./b',
    '/a/%2e%2e/b',
    '/a b',
    '/a#b',
    '/a\tb',
    '/a\r\nx: y',
    '/ä',
  ])('%j is refused', (path) => expect(parseResourcePath(path)).toBeUndefined())

  test('whatever passes keeps its origin and its path on any backend', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'/\\.@:?#%2eabc& \t'), maxLength: 12 }), (path) => {
        if (!parseResourcePath(path)) return
        const url = new URL(path, 'https://api.example.com:8443')
        expect(url.origin).toBe('https://api.example.com:8443')
        expect(url.pathname + url.search).toBe(path)
      }),
      { numRuns: 5000 },
    )
  })
})
