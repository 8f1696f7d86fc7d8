import { GatewayError } from '../../errors.ts'
import { IdString } from '../../protocol/catalog.ts'

/** An id that a query may name once; undefined: it does not. */
export function idInQuery(query: URLSearchParams, name: string): string | undefined | GatewayError {
  const [value, ...more] = query.getAll(name)
  if (value === undefined) return undefined
  if (more.length > 0) return new GatewayError('INVALID_REQUEST', `${name} is given more than once.`)
  const parsed = IdString.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return new GatewayError('INVALID_REQUEST', `${name} ${issue!.message}.`)
}
