import { headerOf } from '../http/native-request.ts'

/**
 * A browser that opens an address, as a person does: not its scripts, and no agent. Browsers say so in `Sec-Fetch-Mode`, but
 * only where the connection is secure; elsewhere they are known by preferring HTML to all else. Nearly every agent is told
 * apart by the first comparison.
 */
export function isNavigation(request: Request): boolean {
  if (request.method !== 'GET') return false
  const accept = headerOf(request, 'accept')
  if (accept === null || !accept.includes('text/html')) return false
  const mode = headerOf(request, 'sec-fetch-mode')
  return mode === null ? accept.startsWith('text/html') : mode === 'navigate'
}

/** Whoever takes HTML at all, at an address that has nothing else to say. */
export function acceptsPage(request: Request): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  return headerOf(request, 'accept')?.includes('text/html') === true
}
