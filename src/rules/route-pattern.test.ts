import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { parseResourcePath } from './resource-path.ts'
import { indexPatterns, matchPattern, overlaps, parsePattern, patternFault } from './route-pattern.ts'

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
    '/a/...',
    '/a/..;/b',
    '/a/.;v=1',
  ])('%s is refused as a pattern', (path) => expect(patternFault(path)).toBeDefined())

  test('overlap means that one path fits both', () => {
    const pair = (a: string, b: string) => overlaps(parsePattern(a), parsePattern(b))
    expect(pair('/users/:id', '/users/me')).toBe(true)
    expect(pair('/:a/x', '/y/:b')).toBe(true)
    expect(pair('/users/:id', '/users/:id/posts')).toBe(false)
    expect(pair('/a/:x', '/b/:x')).toBe(false)
  })
})

describe('an index of many patterns', () => {
  const texts = ['/', '/weather/:city', '/weather/:place', '/weather/:city/now', '/:a/:b/:c', '/report']
  const indexed = indexPatterns(texts.map((text) => ({ text, pattern: parsePattern(text) })))

  test.each([
    '/',
    '/weather/paris',
    '/weather/paris/now',
    '/report',
    '/weather/',
    '/weather/%00',
    '/a/b/c/d',
  ])('finds for %s what fits one by one', (path) => {
    const fitting = texts.filter((text) => match(text, path))
    expect(indexed(path).map(({ text }) => text)).toEqual(fitting)
  })

  test('looks at the characters of a path once, and decodes only what may fit', () => {
    const many = Array.from({ length: 500 }, (_, index) => parsePattern(`/:tenant/r${index}`))
    const find = indexPatterns(many.map((pattern) => ({ pattern })))
    const split = vi.spyOn(String.prototype, 'split')
    const decode = vi.spyOn(globalThis, 'decodeURIComponent')
    try {
      expect(find(`/${'%41'.repeat(20_000)}/elsewhere`)).toEqual([])
      expect(find('/a'.repeat(30_000))).toEqual([])
      expect([split.mock.calls.length, decode.mock.calls.length]).toEqual([2, 0])
      expect(find(`/${'%41'.repeat(20_000)}/r7`)).toHaveLength(1)
      expect(decode).toHaveBeenCalledOnce()
    } finally {
      vi.restoreAllMocks()
    }
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

  test.each([
    ['a path parameter', ['/a/..;', '/a/..;/b', '/a/..;x=1/b', '/a/.;', '/a/%2e%2e;', '/a/.%2E;x']],
    ['an encoded one', ['/a/..%3b', '/a/..%3Bx', '/a/.%2e%3b', '/a/..%3f', '/a/..%23x']],
    ['encoded twice or more', ['/a/%252e%252e', '/a/%252e.', '/a/..%253b', '/a/%25252e%25252e']],
    ['slashes inside a segment', ['/a/x%2f..', '/a/..%2fb', '/a/..%5c', '/a/x%5c..%5cb', '/a/x%252f..']],
    [
      'more dots, or blanks',
      ['/a/...', '/a/..%20', '/a/%20..', '/a/.%20.', '/a/..%09', '/a/..%00', '/a/..%0d'],
    ],
    [
      'overlong or broken UTF-8',
      ['/a/%c0%ae%c0%ae', '/a/%e0%80%ae.', '/a/..%c0%af', '/a/%ff..', '/a/%u002e.', '/a/%'],
    ],
    [
      'full-width and other dots',
      [
        '/a/%ef%bc%8e%ef%bc%8e',
        '/a/.%EF%BC%8E',
        '/a/%e2%80%a5',
        '/a/%e2%80%a4.',
        '/a/%e3%80%82.',
        '/a/%ef%bd%a1%ef%bd%a1',
      ],
    ],
    [
      'full-width slashes and semicolons',
      ['/a/x%ef%bc%8f..', '/a/..%ef%bc%8fb', '/a/..%ef%bc%9b', '/a/..%e2%88%95b', '/a/..%ef%bc%bc'],
    ],
    ['characters that are not seen', ['/a/.%e2%80%8b.', '/a/..%c2%ad', '/a/%ef%bb%bf..', '/a/.%ef%b8%8f.']],
  ])('a segment that some server reads as "." or ".." is refused: %s', (_how, paths) => {
    for (const path of paths) expect(parseResourcePath(path), path).toBeUndefined()
  })

  test.each([
    '/a/v1.2',
    '/a/.well',
    '/a/..b',
    '/a/b..',
    '/a/b;v=1',
    '/a/a..b;c',
    '/a/%E6%9D%B1%E4%BA%AC%EF%BC%8F%E5%A4%A7%E9%98%AA',
    '/a/wait%E2%80%A6',
    '/a/100%25',
    '/a?file=../b;..',
  ])('%s is not read as a dot segment by any server', (path) => {
    const parsed = parseResourcePath(path)
    expect(parsed && parsed.pathname + parsed.search).toBe(path)
  })

  test('an accepted path keeps its origin and path on any backend', () => {
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
