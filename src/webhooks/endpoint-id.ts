import { sha256 } from '../rules/sha256.ts'

/** A short name for an endpoint, the same on every instance. Its URL may hold a key, and is not shown everywhere. */
export function endpointId(url: string): string {
  return sha256(url).slice(0, 12)
}
