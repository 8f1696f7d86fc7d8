import type { Submitted } from '../ports.ts'

/** The meaning of a node's refusal of a raw transaction. Every node software has its own words. */
export function submittedOf(message: string): Submitted {
  if (/already ?known|already imported|already exists|known transaction/i.test(message)) return 'known'
  if (/nonce (is )?too low|old ?nonce|nonce has already been used/i.test(message)) return 'nonce-low'
  if (/underpriced|fee ?too ?low|less than block base fee|fee cap (less|below)/i.test(message))
    return 'underpriced'
  return 'unknown'
}
