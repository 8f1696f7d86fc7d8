/**
 * The innermost reason that a user understands. It never contains a URL, which may hold a key or a password; of a fault that we
 * have no words for, node's may name a host and a port.
 */
export function reasonOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : ''
    const known = REASONS[code]
    if (known) return known
    if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0])
  }
  const message = error instanceof Error ? error.message : 'failed'
  return `cannot be used: ${message.replace(URLS, '(URL)')}`
}

const URLS = /\b[a-z][a-z\d+.-]*:\/\/[^\s"'<>]+/gi

/** Who signed a certificate, for which name, and whether TLS is spoken at all: how the two sides are set up. */
const TLS_SET_UP: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'has a certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS',
  ERR_TLS_REFUSED: 'does not speak TLS',
}

const REASONS: Record<string, string> = {
  ...TLS_SET_UP,
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'is unknown to DNS',
  EAI_AGAIN: 'cannot be looked up now',
  ECONNRESET: 'hangs up',
  ETIMEDOUT: 'does not answer',
  EHOSTUNREACH: 'cannot be reached',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  UND_ERR_CONNECT_TIMEOUT: 'does not answer',
  UND_ERR_HEADERS_OVERFLOW: 'sends more headers than clients take',
}

/**
 * Whether two sides are set up so that they cannot agree on TLS, which waiting does not change. Certificates that have expired
 * or are not valid yet, and alerts of a server that has none yet, are no such fault: one is renewed, or loaded, while we wait.
 */
export function isLastingTlsFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && Object.hasOwn(TLS_SET_UP, String(error.code))
}

/** By the code of SQLite's error, or that of the system. */
export function isDiskFull(cause: unknown): boolean {
  const { code } = Object(cause) as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT' || code?.startsWith('SQLITE_FULL') === true
}
