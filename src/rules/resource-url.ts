import type { CalledResource } from '../facts.ts'

/**
 * Where a purchase is made: the `resource.url` of its 402, and of the receipts and offers that are signed for it. `url` is set
 * where a call was made elsewhere than below the gateway's base URL; plans are bought at one endpoint.
 */
export function resourceUrl(
  baseUrl: string,
  { url, resource }: { url?: string | undefined; resource: Pick<CalledResource, 'path'> | null },
): string {
  return url ?? `${baseUrl}${resource?.path ?? '/x402/access'}`
}
