import { isPlainPath } from '../../rules/resource-path.ts'
import { targetOf } from './native-request.ts'

/**
 * The path with query exactly as the client sent it, where the request comes from our own node:http bridge. `URL`
 * would resolve dot segments and backslashes, and a route would then be matched by something else than was asked.
 */
export function requestTarget(request: Pick<Request, 'url'>): string {
  const sent = targetOf(request)
  if (sent !== undefined) return sent
  const { url } = request
  const start = url.indexOf('/', url.indexOf('://') + 3)
  return start === -1 ? '/' : url.slice(start)
}

/** The path as `URL` reads it. */
export function requestPath(request: Request): string {
  const target = requestTarget(request)
  return isPlainPath(target) ? target : new URL(request.url).pathname
}

/** The target below a base path such as `/pay`; undefined when it lies elsewhere. */
export function belowBasePath(target: string, basePath: string): string | undefined {
  return target.startsWith(`${basePath}/`) ? target.slice(basePath.length) : undefined
}

export function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/+$/, '')
}
