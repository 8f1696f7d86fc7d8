import { reasonOf } from '../../reason-of.ts'
import { askHealth } from '../ask-health.ts'
import { type Finding, runChecks } from '../run-checks.ts'
import { documentFindings } from './check-document.ts'
import { checkOffer } from './check-offer.ts'
import { checkAgentDoors, checkIcon, checkRoot, httpsFinding } from './check-places.ts'
import { paidOperations, readDocument } from './public-document.ts'

const LIMIT_MS = 10_000

/**
 * What directories of paid APIs and agents see of a gateway at its public address, and what they would object to. Asks over
 * HTTP only, pays nothing, and never rejects.
 *
 * @param baseUrl a usable URL without a slash at the end
 */
export async function checkPublic(baseUrl: string): Promise<Finding[]> {
  const { host } = new URL(baseUrl)
  const health = await askHealth(baseUrl, LIMIT_MS)
  const fail = (message: string, fix: string): Finding[] => [
    { name: 'address', level: 'error', message, fix },
  ]
  if (health.kind === 'silent') {
    return fail(`${host} ${health.reason}`, 'Start the server, or fix the address, DNS or the reverse proxy.')
  }
  if (health.kind === 'foreign') {
    const message = `${baseUrl} is not a paystile gateway: its /health answers ${health.status}, but not as paystile does`
    return fail(message, 'Name the base URL of a gateway, with its path if it has one.')
  }
  if (!health.configured) return fail(`${host} waits to be configured`, `Open ${baseUrl}/setup.`)
  const asks = `${baseUrl}/openapi.json`
  const document = await askDocument(asks, baseUrl)
  if (typeof document === 'string') {
    const fix = 'Switch the documents on (DOCUMENTS_ENABLED), or let the reverse proxy pass the path on.'
    const message = `${asks} ${document}: directories find nothing`
    return [httpsFinding(baseUrl), { name: 'openapi.json', level: 'error', message, fix }]
  }
  const asked = await runChecks(
    [
      ...checkRoot(baseUrl),
      checkIcon(baseUrl),
      ...checkAgentDoors(document, baseUrl),
      ...paidOperations(document).map(checkOffer),
    ],
    LIMIT_MS,
  )
  return [httpsFinding(baseUrl), ...documentFindings(document, baseUrl), ...asked]
}

async function askDocument(url: string, baseUrl: string): Promise<ReturnType<typeof readDocument>> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })
    if (!response.ok) return `answers ${response.status}`
    const value: unknown = await response.json().catch(() => undefined)
    return readDocument(value, baseUrl)
  } catch (error) {
    return reasonOf(error)
  }
}
