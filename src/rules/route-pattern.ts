import { hasDotSegments } from './dot-segments.ts'

/** A route's path, ready to match: literal segments, and `:param` segments that stand for exactly one. */
export interface RoutePattern {
  segments: ReadonlyArray<{ literal: string } | { param: string }>
}

/** Why a path cannot be a route's pattern, as a message for the seller; undefined if it can. */
export function patternFault(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must start with "/", for example "/weather/:city"'
  const names = new Set<string>()
  for (const segment of path.slice(1).split('/')) {
    if (segment === '' && path !== '/') return 'must not have empty segments, for example "/weather/:city"'
    if (hasDotSegments(segment)) return 'must not have "." or "..", alone or before ";", as a segment'
    if (segment.startsWith(':')) {
      const name = segment.slice(1)
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        return `has the parameter "${segment}"; a name has letters, digits and _`
      if (names.has(name)) return `names :${name} twice`
      names.add(name)
    } else if (!/^[A-Za-z0-9._~!$&'()+,;=@-]*$/.test(segment)) {
      return `has the segment "${segment}"; use plain characters, or a whole segment such as ":id" for a parameter`
    }
  }
  return undefined
}

export function parsePattern(path: string): RoutePattern {
  const fault = patternFault(path)
  if (fault) throw new RangeError(`path ${JSON.stringify(path)} ${fault}`)
  const segments = path
    .slice(1)
    .split('/')
    .map((segment) => (segment.startsWith(':') ? { param: segment.slice(1) } : { literal: segment }))
  return { segments }
}

/** Could one path match both? Then its price would depend on the order of the routes. */
export function overlaps(a: RoutePattern, b: RoutePattern): boolean {
  return (
    a.segments.length === b.segments.length &&
    a.segments.every((segment, index) => {
      const other = b.segments[index]!
      return 'param' in segment || 'param' in other || segment.literal === other.literal
    })
  )
}

/** The parameters, decoded once; undefined if the path does not match. */
export function matchPattern(pattern: RoutePattern, pathname: string): Record<string, string> | undefined {
  const { length } = pattern.segments
  // A path may have thousands of segments: those beyond the pattern's need not be split.
  const segments = pathname.slice(1).split('/', length + 1)
  return segments.length === length && hasLiterals(pattern, segments)
    ? paramsOf(pattern, segments)
    : undefined
}

/**
 * Finds everything whose pattern a path fits. The path is split once, however many patterns there are, and a parameter is
 * decoded only where all else fits: what a stranger's path costs must not grow with the seller's list.
 */
export function indexPatterns<T extends { pattern: RoutePattern }>(
  patterned: Iterable<T>,
): (pathname: string) => T[] {
  const byLength = new Map<number, T[]>()
  for (const one of patterned) {
    const { length } = one.pattern.segments
    const others = byLength.get(length)
    if (others) others.push(one)
    else byLength.set(length, [one])
  }
  const longest = Math.max(0, ...byLength.keys())
  return (pathname) => {
    const segments = pathname.slice(1).split('/', longest + 1)
    const found: T[] = []
    for (const one of byLength.get(segments.length) ?? [])
      if (hasLiterals(one.pattern, segments) && paramsOf(one.pattern, segments)) found.push(one)
    return found
  }
}

function hasLiterals({ segments: expected }: RoutePattern, segments: readonly string[]): boolean {
  for (let index = 0; index < expected.length; index++) {
    const one = expected[index]!
    if ('literal' in one && one.literal !== segments[index]) return false
  }
  return true
}

/** Undefined: a parameter has a value that none may have. */
function paramsOf(pattern: RoutePattern, segments: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (let index = 0; index < segments.length; index++) {
    const expected = pattern.segments[index]!
    if ('literal' in expected) continue
    const value = decodeOnce(segments[index]!)
    // An encoded slash or dot segment would be another path to a backend that decodes again.
    if (value === undefined || value === '' || /[/\\%]|\p{Cc}/u.test(value) || /^\.{1,2}$/.test(value))
      return undefined
    params[expected.param] = value
  }
  return params
}

function decodeOnce(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
