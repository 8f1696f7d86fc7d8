import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { schemesSold } from '../../protocol/schemes-sold.ts'
import type { McpTool } from './tool.ts'

/** What a client's model is told of the server as a whole. MPP has no words for a metered call. */
export function instructBuyer(
  tools: readonly McpTool[],
  discovery: Pick<DiscoveryCatalog, 'plans' | 'routes'>,
): string {
  const schemes = schemesSold(discovery)
  const byMpp = schemes.includes('exact')
  const sold = tools.filter(({ kind }) => kind === 'sold').map(({ listing }) => listing.name)
  const prices = `Sells API access for USDC by x402${byMpp ? ' or MPP' : ''}. Call discover_plans for prices`
  if (sold.length === 0) return `${prices}; nothing is sold by tools.`
  const which = sold.includes('request_access') ? 'request_access' : 'the tool that you need'
  const credential = byMpp ? ', or an MPP credential in _meta["org.paymentauth/credential"]' : ''
  const how = `its first answer says what to sign, and the second call carries the payment in _meta["x402/payment"]${credential}.`
  const metered = byMpp && schemes.includes('upto') ? ' Metered calls are paid by x402 only.' : ''
  return `${prices}, then ${which}: ${how}${metered}`
}
