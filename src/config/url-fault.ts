/** Why this is no URL that we can call or show. The URL itself is never repeated: RPC URLs carry API keys. */
export function urlFault(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL'
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `begins with ${url.protocol}; it must be an http or https URL`
  // fetch refuses such URLs, but only when the first buyer has paid.
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
 * Faults of a resource endpoint. Buyers choose the resourceId: it may fill a path or query, never the host, or a
 * buyer could choose where its own grant points.
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

/** A template's path below the gateway's base URL, without its query; undefined when it leads elsewhere. */
export function templatePath(template: string, baseUrl: string): string | undefined {
  const sample = template.replaceAll('{resourceId}', 'x')
  if (!URL.canParse(sample) || !URL.canParse(baseUrl)) return undefined
  if (new URL(sample).origin !== new URL(baseUrl).origin) return undefined
  const path = /^[^:]+:\/\/[^/?]*(\/[^?]*)?/.exec(template)?.[1] ?? '/'
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '')
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined
}
