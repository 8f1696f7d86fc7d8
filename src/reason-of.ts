/** The innermost reason that a user understands. It never contains addresses, which may contain keys. */
export function reasonOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : ''
    const known = REASONS[code]
    if (known) return known
    if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0])
  }
  const message = error instanceof Error ? error.message : 'failed'
  return `cannot be used: ${message}`
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'is unknown to DNS',
  EAI_AGAIN: 'cannot be looked up now',
  ECONNRESET: 'hangs up',
  ETIMEDOUT: 'does not answer',
  EHOSTUNREACH: 'cannot be reached',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'has a certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS',
  ERR_TLS_REFUSED: 'does not speak TLS',
  UND_ERR_CONNECT_TIMEOUT: 'does not answer',
  UND_ERR_HEADERS_OVERFLOW: 'sends more headers than clients take',
}

/** Whether two sides do not agree on TLS or on a certificate, which waiting does not change. */
export function isTlsFault(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|HOSTNAME_MISMATCH|ERR_TLS_(CERT|REFUSED)|ERR_SSL_)/.test(
    code,
  )
}
