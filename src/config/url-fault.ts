/** Why this is not a usable URL; undefined if it is. Never repeats the URL, since RPC URLs contain API keys. */
export function urlFault(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL'
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `begins with ${url.protocol}; it must be an http or https URL`
  // fetch refuses URLs with credentials, but only when it is called, after the first buyer has paid.
  if (url.username !== '' || url.password !== '') return 'carries a user name or password; take it out'
  if (url.hash !== '') return 'has a part after "#"; take it out'
  return undefined
}

/** Faults of a base URL, onto which paths are appended. */
export function baseUrlFault(text: string): string | undefined {
  return new URL(text).search === ''
    ? undefined
    : 'has a part after "?"; paths are appended to it, so take it out'
}

/**
 * Faults of a resource endpoint. Buyers choose the resourceId, so it may be a part of the path or query, but never of the
 * host: otherwise a buyer could choose the server that its grant names.
 */
export function templateFault(template: string): string | undefined {
  const braces = template.match(/[{}][^{}]*[{}]?/g) ?? []
  if (braces.some((brace) => brace !== '{resourceId}'))
    return 'may have no other placeholder than {resourceId}'
  const [one, other] = ['one', 'other'].map((id) => template.replaceAll('{resourceId}', id)) as [
    string,
    string,
  ]
  const fault = urlFault(one)
  if (fault !== undefined) return fault
  if (!URL.canParse(other) || new URL(one).host !== new URL(other).host) {
    return 'has {resourceId} in its host; it may stand in the path or the query only'
  }
  return undefined
}

/** The path of a template below the gateway's base URL, without its query; undefined if it is on another server. */
export function templatePath(template: string, baseUrl: string): string | undefined {
  const sample = template.replaceAll('{resourceId}', 'x')
  if (!URL.canParse(sample) || !URL.canParse(baseUrl)) return undefined
  if (new URL(sample).origin !== new URL(baseUrl).origin) return undefined
  const path = /^[^:]+:\/\/[^/?]*(\/[^?]*)?/.exec(template)?.[1] ?? '/'
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '')
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined
}
