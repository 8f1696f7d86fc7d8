import { ConfigError } from '../errors.ts'
import { HTTP_METHODS } from '../protocol/catalog.ts'

export type RouteMatcher = (route: { method: string; path: string }) => boolean

/**
 * `GET /pets/:id`, `GET /pets/{id}`, `/pets/*` or `*`: with or without a method; `*` stands for anything, a parameter for
 * any parameter.
 */
export function routeMatcher(text: string, flag: string): RouteMatcher {
  const [, method, path] = /^(?:([A-Za-z]+)\s+)?(\/\S*|\*)$/.exec(text.trim()) ?? []
  if (path === undefined || (method && !(HTTP_METHODS as readonly string[]).includes(method.toUpperCase()))) {
    throw new ConfigError([
      `${flag} ${JSON.stringify(text.slice(0, 80))} names no route; for example "GET /pets/*".`,
    ])
  }
  const shape = shapeOf(path)
  const pattern = new RegExp(`^${shape.split('*').map(escaped).join('.*')}$`)
  return (route) =>
    (method === undefined || route.method === method.toUpperCase()) && pattern.test(shapeOf(route.path))
}

/** A path without the names of its parameters. */
export const shapeOf = (path: string): string =>
  path.replace(/(^|\/)(:[A-Za-z_][A-Za-z0-9_]*|\{[^{}/]+\})(?=\/|$)/g, '$1:')

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
