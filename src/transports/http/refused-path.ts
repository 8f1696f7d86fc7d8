import { GatewayError } from '../../errors.ts'
import { type Catalog, createRouteFinder } from '../../rules/catalog.ts'
import { soldMethod } from './decode-call.ts'

/** Empty segments, and what no parameter may have once it is decoded: / \ % and control characters. */
const REFUSED = /\/{2,}|%(?:2f|5c|25|[01][\da-f]|7f|c2%[89][\da-f])/gi
const MAX_SHOWN = 200

/**
 * Why a path is no call of ours, although one of our routes is meant: without what servers read in different ways, it would
 * fit. Asked only about paths that nothing answers.
 */
export function createPathRefusal(
  catalog: Catalog,
  basePath: string,
): (method: string, target: string) => GatewayError | undefined {
  const routesAt = createRouteFinder(catalog)
  return (method, target) => {
    const path = target.split('?')[0]!
    const found = path.match(REFUSED)?.[0]
    if (found === undefined) return undefined
    const plain = path.replace(REFUSED, (text) => (text.startsWith('/') ? '/' : '_'))
    const route = routesAt(plain)?.find((one) => one.method === soldMethod(method))
    if (!route) return undefined
    const shown = `${basePath}${path.slice(0, MAX_SHOWN)} has "${found.slice(0, MAX_SHOWN)}"`
    const message = `the path ${shown}, which servers read in different ways; nothing was charged`
    const hint = `call ${route.method} ${basePath}${route.path} without empty segments, and without / \\ % or control characters in a parameter, encoded or not; what needs them may go into the query`
    return new GatewayError('INVALID_REQUEST', message, { hint })
  }
}
