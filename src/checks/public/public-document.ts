/** A JSON object that another server sent: nothing about it is certain. */
export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const objectOf = (value: unknown): Json => (isObject(value) ? value : {})

/** An operation of `openapi.json`, as a directory reads it. */
export interface PublicOperation {
  /** `GET /weather/{city}`. */
  name: string
  method: string
  /** Where a directory calls it. */
  url: string
  operation: Json
}

export interface PublicDocument {
  info: Json
  securitySchemes: Json
  operations: PublicOperation[]
  /** The address that the document says it is about. */
  server: string | undefined
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/**
 * Reads `openapi.json`. The text is the end of a sentence about what is wrong with it.
 *
 * @param baseUrl where it was asked for; operations are called there, whatever the document says
 */
export function readDocument(value: unknown, baseUrl: string): PublicDocument | string {
  if (!isObject(value)) return 'is not a JSON object'
  const { openapi, info, paths, servers, components } = value
  if (typeof openapi !== 'string' || !openapi.startsWith('3.')) return 'is not OpenAPI 3'
  if (!isObject(info) || typeof info.title !== 'string' || typeof info.version !== 'string') {
    return 'has no info.title or info.version'
  }
  if (!isObject(paths)) return 'has no paths'
  const server = serverOf(servers)
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method): PublicOperation[] => {
      const operation = objectOf(item)[method]
      if (!isObject(operation)) return []
      const base = baseOf(serverOf(objectOf(item).servers), server, baseUrl)
      const url = base + path.replace(/[{}]/g, encodeURIComponent)
      return [{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), url, operation }]
    }),
  )
  return { info, securitySchemes: objectOf(objectOf(components).securitySchemes), operations, server }
}

function serverOf(servers: unknown): string | undefined {
  const url = Array.isArray(servers) ? objectOf(servers[0]).url : undefined
  return typeof url === 'string' && URL.canParse(url) ? url.replace(/\/+$/, '') : undefined
}

/** A path may have a server of its own: routes of the seller's own host lie beside the gateway's base path. */
function baseOf(own: string | undefined, server: string | undefined, baseUrl: string): string {
  if (own === undefined) return baseUrl
  const isSameHost = server !== undefined && new URL(own).origin === new URL(server).origin
  return isSameHost ? new URL(baseUrl).origin + new URL(own).pathname.replace(/\/+$/, '') : own
}

/** What costs money: directories ask each of these for its terms. */
export const paidOperations = ({ operations }: PublicDocument): PublicOperation[] =>
  operations.filter(({ operation }) => operation['x-payment-info'] !== undefined)
