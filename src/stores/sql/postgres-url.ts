import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { ConfigError } from '../../errors.ts'

/** Where and as whom to connect. */
export interface PostgresTarget {
  /** A host name, an address, or the folder of a Unix socket. */
  host: string
  port: number
  user: string
  password: string
  database: string
  tls: false | 'prefer' | ConnectionOptions
  /** For messages: without the password. */
  label: string
}

const EXAMPLE = 'postgres://user:password@host:5432/database'
const TLS_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/**
 * Reads a connection URL as libpq does: `sslmode` (default prefer), `sslrootcert` and `host` (a socket folder) count;
 * other parameters are for other programs and are left alone. Throws ConfigError, never with the password in it.
 */
export function parsePostgresUrl(text: string): PostgresTarget {
  const fault = (what: string) => new ConfigError([`The Postgres URL ${what}; expected ${EXAMPLE}.`])
  let url: URL
  try {
    url = new URL(text)
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
  const port = Number(url.port || asked.get('port') || 5432)
  return {
    host,
    port,
    user,
    password: decode(url.password, 'password'),
    database,
    tls: tlsOf(host, asked.get('sslmode') ?? 'prefer', asked.get('sslrootcert')),
    label: `postgres://${user}@${host}:${port}/${database}`,
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
