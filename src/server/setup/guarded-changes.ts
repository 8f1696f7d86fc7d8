import { type SavedValues, savedNamesWith } from '../../config/config-file.ts'
import { networkVariable } from '../../config/network-variables.ts'
import { isSecret } from '../../config/secret-variables.ts'

/** Besides all secrets: who gets the money, on which network, and where buyers, their calls, their tokens and our keys are sent. */
const GUARDED = new Set([
  'SVC_WALLET_ADDRESS',
  'SVC_NETWORK',
  'BASE_URL',
  'PROXY_TO_BASE_URL',
  'RESOURCE_ENDPOINT',
  'ISSUE_TOKEN_API',
])

/**
 * The changes for which a login is not enough: otherwise a browser that was left open, or a page that gained control of it,
 * could redirect the money. Before the first configuration there is nothing to protect.
 */
export function guardedChanges(before: SavedValues, after: SavedValues, live: boolean): string[] {
  return savedNamesWith(before, after).filter((name) => {
    if (!GUARDED.has(networkVariable(name)?.plain ?? name) && !isSecret(name)) return false
    return before[name] !== after[name] && (live || before[name] !== undefined)
  })
}
