import fc from 'fast-check'
import { parseResourcePath } from '../../src/rules/resource-path.ts'
import { matchPattern, parsePattern, patternFault } from '../../src/rules/route-pattern.ts'
import { basePathOf, belowBasePath, requestTarget } from '../../src/transports/http/request-target.ts'
import { fault, openTarget, type Target } from './target.ts'

const piece = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '/',
      '//',
      '\\',
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '%2f',
      '%5c',
      '%25',
      '%00',
      '%0d%0a',
      '%',
      '%zz',
      '%c3%28',
      '%3b',
      '%3F',
      '%20',
      '%252e',
      '%252f',
      '%2500',
      '%c0%ae',
      '%e0%80%ae',
      '%ef%bc%8e',
      '%EF%BC%8F',
      '%ef%bc%9b',
      '%e2%80%a5',
      '%e2%80%8b',
      '%e3%80%82',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'weather',
      'paris',
      'report',
      '@',
      ':',
      ':80',
      '?',
      '&',
      '=',
      '#',
      ';',
      ' ',
      '\t',
      '\n',
      'http://',
      'evil.com',
      '.evil.com',
      '@evil.com',
      '[::1]',
      'é',
      '\ud800',
      '🌍',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
)
const path = fc
  .tuple(fc.constantFrom('/', '/weather/', '/weather/paris', ''), fc.array(piece, { maxLength: 8 }))
  .map(([start, pieces]) => start + pieces.join(''))

const BACKENDS = [
  'http://backend.example',
  'https://api.example:8443',
  'http://127.0.0.1:9',
  'http://[::1]:80',
]
const PATTERNS = ['/weather/:city', '/report', '/', '/a/:b/c/:d'].map((text) => ({
  text,
  pattern: parsePattern(text),
}))

/** What a path with query may be, against the URL parser that every client and backend shares. */
export const pathsTarget: Target = {
  name: 'paths',
  share: 25,
  open: async () =>
    openTarget({
      inputs: path,
      check(text) {
        const fit = checkPath(text)
        checkTarget(text)
        // A seller's pattern is matched by itself, or refused.
        if (patternFault(text) === undefined && !text.includes(':') && text !== '/') {
          const self = parseResourcePath(text)
          if (!self || !matchPattern(parsePattern(text), self.pathname))
            fault(`the pattern "${text}" does not match itself`)
        }
        return fit ? 'fit' : 'refused'
      },
    }),
}

/** As servers read a path: segments without their parameters, decoded so and so often, folded or not. */
const READERS = [0, 1, 2, 3].flatMap((times) =>
  [(text: string) => text, (text: string) => text.normalize('NFKC')].map(
    (fold) =>
      (path: string): string[] => {
        const decoded = Array.from({ length: times }).reduce<string>(lenient, path)
        return fold(decoded)
          .split(/[/\\]/)
          .map((segment) => segment.replace(/[;?#].*$/s, '').replace(/[\s\0\u200b]/g, ''))
      },
  ),
)

/** Byte by byte, as lenient as the worst of them: two and three bytes for one ASCII character are taken for it. */
function lenient(text: string): string {
  const shortened = text
    .replace(/%c0%([89ab][0-9a-f])/gi, (_all, low: string) => hex(Number.parseInt(low, 16) & 0x3f))
    .replace(/%e0%80%([89ab][0-9a-f])/gi, (_all, low: string) => hex(Number.parseInt(low, 16) & 0x3f))
  return shortened.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

const hex = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`

function checkPath(text: string): boolean {
  const parsed = parseResourcePath(text)
  if (!parsed) return false
  const { pathname, search } = parsed
  if (pathname + search !== text) fault('what is matched is not what was sent')
  for (const backend of BACKENDS) {
    // Appended, as the backend is called, and resolved, as a browser would: the same place, on the same host.
    for (const url of [new URL(backend + text), new URL(text, backend)]) {
      if (url.origin !== backend.replace(/:80$/, '')) fault(`leads to ${url.origin}`)
      if (url.username !== '' || url.hash !== '') fault('carries a user or a fragment')
      if (url.pathname + url.search !== text) fault(`is read as ${url.pathname + url.search}`)
    }
  }
  const dots = READERS.flatMap((read) => read(pathname)).find((segment) => /^\.+$/.test(segment))
  if (dots !== undefined) fault(`some server reads a segment as ${dots}`)
  for (const { text: route, pattern } of PATTERNS) {
    const params = matchPattern(pattern, pathname)
    if (!params) continue
    for (const value of Object.values(params)) {
      if (/[/\\%]|\p{Cc}/u.test(value) || value === '' || value === '.' || value === '..')
        fault(`${route} takes ${JSON.stringify(value)}`)
    }
    if (pathname.split('/').length !== route.split('/').length) fault(`${route} takes other segments`)
  }
  return true
}

/** The target of a request, as our own bridge hands it over: found again exactly. */
function checkTarget(text: string): void {
  if (!text.startsWith('/')) return
  const request = { url: `http://localhost:3000${text}` } as Request
  if (requestTarget(request) !== text) fault(`the target is read as ${requestTarget(request)}`)
  const below = belowBasePath(`/pay${text}`, basePathOf('http://localhost:3000/pay/'))
  if (below !== text) fault(`below /pay it is ${below}`)
}
