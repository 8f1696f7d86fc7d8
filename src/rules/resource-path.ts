import { hasDotSegments } from './dot-segments.ts'

const ORIGIN = 'http://backend.invalid'
const PLAIN = /^[\w/-]+$/

/** A path without a query that no parser changes, so it need not be parsed. */
export const isPlainPath = (path: string): boolean => PLAIN.test(path)

/**
 * Splits a path with query, if every URL parser reads it the same way: then the backend gets exactly the path that
 * was matched. A path that parsing would change (dot segments, backslashes, a host, blanks, a fragment), or that some
 * server reads as a dot segment, is refused and not corrected.
 */
export function parseResourcePath(path: string): { pathname: string; search: string } | undefined {
  if (!path.startsWith('/') || path.startsWith('//')) return undefined
  if (isPlainPath(path)) return { pathname: path, search: '' }
  let url: URL
  try {
    url = new URL(path, ORIGIN)
  } catch {
    return undefined
  }
  if (url.origin !== ORIGIN || url.hash !== '' || `${url.pathname}${url.search}` !== path) return undefined
  if (hasDotSegments(url.pathname)) return undefined
  return { pathname: url.pathname, search: url.search }
}
