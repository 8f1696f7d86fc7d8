/** A key as a DID document publishes it. */
export interface PublicJwk {
  kty: 'EC'
  crv: 'P-256'
  x: string
  y: string
}

/** `/.well-known/did.json`: the keys with which this gateway signs receipts, or once did. */
export interface DidDocument {
  '@context': readonly string[]
  id: string
  verificationMethod: Array<{ id: string; type: string; controller: string; publicKeyJwk: PublicJwk }>
  assertionMethod: string[]
}

/** The did:web of a base URL: `https://shop.example:8443/pay` is `did:web:shop.example%3A8443:pay`. */
export function didOf(baseUrl: string): string {
  const { host, pathname } = new URL(baseUrl)
  const segments = pathname.split('/').filter((segment) => segment !== '')
  return ['did', 'web', encodeURIComponent(host), ...segments].join(':')
}

/** Where its document is, below the base URL: did:web looks below the path of the DID, if it has one. */
export function didDocumentPaths(baseUrl: string): string[] {
  const hasPath = new URL(baseUrl).pathname !== '/'
  return hasPath ? ['/did.json', '/.well-known/did.json'] : ['/.well-known/did.json']
}

/**
 * Where the document of a did:web is; undefined for what is no did:web. By https, except on this very machine. The host
 * cannot smuggle a path, a query or a user name into the URL.
 */
export function documentUrlOf(did: string): URL | undefined {
  const match = /^did:web:([A-Za-z0-9.%_-]+)((?::[A-Za-z0-9.%_~!$&'()*+,;=@-]+)*)$/.exec(did)
  if (!match) return undefined
  try {
    const host = decodeURIComponent(match[1]!)
    const segments = match[2]!.split(':').slice(1)
    if (!/^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(host)) return undefined
    if (segments.some((segment) => /^\.{1,2}$|[/\\?#]/.test(decodeURIComponent(segment)))) return undefined
    const isLocal = /^(localhost|127\.0\.0\.1)(:|$)/.test(host)
    const place = segments.length === 0 ? '.well-known' : segments.join('/')
    return new URL(`${isLocal ? 'http' : 'https'}://${host}/${place}/did.json`)
  } catch {
    return undefined
  }
}
