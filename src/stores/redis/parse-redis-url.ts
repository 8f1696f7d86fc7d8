import { ConfigError } from '../../errors.ts'
import type { Place } from './locate-master.ts'

/** Where a Redis is, in the form of ioredis' options. */
export interface RedisAddress {
  host?: string
  port?: number
  sentinels?: Place[]
  /** The name under which the sentinels know the master. */
  name?: string
  sentinelPassword?: string
  /** Some nodes of a cluster. */
  cluster?: Place[]
  username?: string
  password?: string
  db: number
  tls: boolean
  /** For messages: without credentials. */
  label: string
}

const SHAPE = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?#]+)((?:\/[^?#]*)?)(?:\?([^#]*))?$/
const REDIS_PORT = 6379
const SENTINEL_PORT = 26379

/**
 * Reads `redis://user:password@host:6379/0`, `rediss://…` for TLS, and
 * `redis+sentinel://user:password@host:26379,host:26379/masterName/0` (`rediss+sentinel` for TLS to both). Credentials
 * are the master's; those of the sentinels go in `?sentinelPassword=`. `redis+cluster://host:6379,host:6379` names some
 * nodes of a cluster, from which the others are learnt. Throws ConfigError, which never shows the URL.
 */
export function parseRedisUrl(url: string): RedisAddress {
  const [, scheme, kind, credentials, hosts, path = '', query] = SHAPE.exec(url) ?? []
  if (scheme === undefined || hosts === undefined) {
    throw fault('is not one', 'redis://user:password@localhost:6379/0')
  }
  const sentinel = kind === 'sentinel'
  const places = hosts.split(',').map((place) => parsePlace(place, sentinel ? SENTINEL_PORT : REDIS_PORT))
  const segments = path.split('/').filter((segment) => segment !== '')
  const name = sentinel ? decode(segments.shift() ?? '') : undefined
  if (sentinel && !name) {
    throw fault('names no master', 'redis+sentinel://host:26379,host:26379/mymaster')
  }
  if (kind === undefined && places.length > 1) {
    const example = 'redis+sentinel://host:26379,host:26379/mymaster or redis+cluster://host:6379,host:6379'
    throw fault('names several hosts', example)
  }
  const [db = '0', ...rest] = segments
  if (!/^\d{1,5}$/.test(db) || rest.length > 0) {
    throw fault('does not end in a database number', 'redis://localhost:6379/0')
  }
  if (kind === 'cluster' && db !== '0') {
    throw fault('has a database number; a cluster has database 0 only', 'redis+cluster://host:6379,host:6379')
  }
  const sentinelPassword = new URLSearchParams(query).get('sentinelPassword')
  return {
    ...(kind === 'cluster' && { cluster: places }),
    ...(name ? { sentinels: places, name, ...(sentinelPassword && { sentinelPassword }) } : places[0]),
    ...parseCredentials(credentials),
    db: Number(db),
    tls: scheme === 'rediss',
    label: `redis at ${hosts}${name ? `, master ${name}` : ''}`,
  }
}

function parsePlace(place: string, defaultPort: number): Place {
  const [, host, port = String(defaultPort)] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d+))?$/.exec(place) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw fault('has a bad host or port', 'redis://localhost:6379')
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

/** `user:password`, `:password`, or, as some providers write it, the password alone. */
function parseCredentials(credentials: string | undefined): { username?: string; password?: string } {
  if (!credentials) return {}
  const colon = credentials.indexOf(':')
  if (colon < 0) return { password: decode(credentials) }
  const username = decode(credentials.slice(0, colon))
  return { ...(username && { username }), password: decode(credentials.slice(colon + 1)) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw fault('has a % that escapes nothing; write %25', 'redis://:50%25@localhost')
  }
}

function fault(what: string, example: string): ConfigError {
  return new ConfigError([`The Redis URL ${what}. Expected e.g. ${example}`])
}
