import type { Dossier } from '../../engine/outcome.ts'
import { fingerprint, resourceHash } from '../../rules/terms.ts'

/** Whether its call was asked for with a body. Bodies are not stored: only the fingerprint shows that there was one. */
export function hasBody({
  kind,
  itemId,
  resourceId,
  resource,
  fingerprint: asked,
}: Dossier['challenge']): boolean {
  if (kind !== 'route' || resource === null) return false
  const plain = { kind, routeId: itemId, resourceId, resource: { ...resource, bodyHash: '' } }
  return fingerprint({ kind, itemId, resourceId, resourceHash: resourceHash(plain) }) !== asked
}
