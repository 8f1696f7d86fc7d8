import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { ConfigError } from '../../errors.ts'

export interface PostgresPlace {
  /** A host name, an address, or the folder of a Unix socket. */
  host: string
  port: number
  tls: false | 'prefer' | ConnectionOptions
}

/** Where and as whom to connect. */
export interface PostgresTarget extends PostgresPlace {
  /** Further servers, of which any may be the primary after a failover. */
  others?: readonly PostgresPlace[]
  user: string
  password: string
  database: string
  /** For messages: without the password. */
  label: string
}

const EXAMPLE = 'postgres://user:password@host:5432/database'
const TLS_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/** Everything before the first comma of the hosts, the hosts after it, the rest. */
const SEVERAL_HOSTS = /^(\w+:\/\/(?:[^@/?#]*@)?[^,@/?#]*),([^@/?#]*)(.*)$/s
const HOST_AND_PORT = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/

/**
 * Reads a connection URL as libpq does: `sslmode` (default prefer), `sslrootcert` and `host` (a socket folder) count;
 * other parameters are for other programs and are left alone. Several hosts, `host:5432,host:5432`, are a primary and its
 * standbys; only the one that accepts writes is used, whatever `target_session_attrs` says. Throws ConfigError, never
 * with the password in it.
 */
export function parsePostgresUrl(text: string): PostgresTarget {
  const fault = (what: string) => new ConfigError([`The Postgres URL ${what}; expected ${EXAMPLE}.`])
  const [, start = text, further, rest = ''] = SEVERAL_HOSTS.exec(text) ?? []
  let url: URL
  try {
    url = new URL(start + rest)
  } catch {
    throw fault('is not a URL (odd characters in a password must be percent-encoded)')
  }
  if (!['postgres:', 'postgresql:'].includes(url.protocol)) throw fault(`starts with ${url.protocol}//`)
  const decode = (part: string, name: string) => {
    try {
      return decodeURIComponent(part)
    } catch {
      throw fault(`has a ${name} with a stray %`)
    }
  }
  const asked = url.searchParams
  const host = asked.get('host') ?? decode(url.hostname.replace(/^\[|\]$/g, ''), 'host')
  if (host === '') throw fault('names no host')
  const user = decode(url.username, 'user')
  if (user === '') throw fault('names no user')
  const database = decode(url.pathname.slice(1), 'database') || user
  const defaultPort = asked.get('port') || '5432'
  const placeOf = (name: string, port: string): PostgresPlace => ({
    host: name,
    port: Number(port),
    tls: tlsOf(name, asked.get('sslmode') ?? 'prefer', asked.get('sslrootcert')),
  })
  const first = placeOf(host, url.port || defaultPort)
  const others = further?.split(',').map((part) => {
    const [, name, port = defaultPort] = HOST_AND_PORT.exec(part) ?? []
    if (name === undefined || Number(port) > 65_535) throw fault('has a bad host or port after a comma')
    return placeOf(decode(name.replace(/^\[|\]$/g, ''), 'host'), port)
  })
  const places = [first, ...(others ?? [])].map((place) => `${place.host}:${place.port}`)
  return {
    ...first,
    ...(others && { others }),
    user,
    password: decode(url.password, 'password'),
    database,
    label: `postgres://${user}@${places.join()}/${database}`,
  }
}

function tlsOf(host: string, mode: string, rootCertFile: string | null): PostgresTarget['tls'] {
  if (!TLS_MODES.includes(mode)) {
    throw new ConfigError([`The Postgres URL has sslmode=${mode}; expected one of ${TLS_MODES.join(', ')}.`])
  }
  if (mode === 'disable' || host.startsWith('/')) return false
  if (mode === 'allow' || mode === 'prefer') return 'prefer'
  const checked = mode !== 'require' || (rootCertFile !== null && rootCertFile !== 'system')
  return {
    // Set explicitly: over an existing socket Node would compare the certificate with "localhost".
    host,
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: checked,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...(rootCertFile !== null && rootCertFile !== 'system' && { ca: readCertificate(rootCertFile) }),
  }
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError([`The Postgres URL's sslrootcert cannot be read: ${(cause as Error).message}.`])
  }
}
