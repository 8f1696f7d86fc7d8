/**
 * Whether a browser says that a page other than ours made this request: one of another site or port, or a sandboxed one.
 * Programs other than browsers send neither header, and need a token anyway.
 */
export function comesFromElsewhere(request: Request, ownHosts: readonly string[]): boolean {
  const { headers, method } = request
  const isSafe = method === 'GET' || method === 'HEAD'
  const site = headers.get('sec-fetch-site')
  // "none": the operator typed the address.
  if (site !== null && site !== 'same-origin' && !(site === 'none' && isSafe)) return true
  // Browsers leave `sec-fetch-site` out over plain http, but never leave `origin` out of a POST.
  const origin = headers.get('origin')
  if (origin === null) return false
  if (!URL.canParse(origin)) return true
  return site === null && ![headers.get('host'), ...ownHosts].includes(new URL(origin).host)
}
