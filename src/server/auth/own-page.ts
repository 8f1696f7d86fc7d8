/**
 * Whether a browser says that another page than ours made this request: one of another site or port, or a sandboxed one.
 * Programs that are no browser say neither, and need a token anyway.
 */
export function comesFromElsewhere(request: Request, ownHosts: readonly string[]): boolean {
  const { headers, method } = request
  const isSafe = method === 'GET' || method === 'HEAD'
  const site = headers.get('sec-fetch-site')
  // "none" is the operator at the address bar.
  if (site !== null && site !== 'same-origin' && !(site === 'none' && isSafe)) return true
  // Browsers leave that header out where the connection is plain http; they never leave out this one of a POST.
  const origin = headers.get('origin')
  if (origin === null) return false
  if (!URL.canParse(origin)) return true
  return site === null && ![headers.get('host'), ...ownHosts].includes(new URL(origin).host)
}
