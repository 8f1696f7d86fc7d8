import { PERMIT2_ADDRESS } from '../../protocol/permit2.ts'
import { isMetered, schemesSold } from '../../protocol/schemes-sold.ts'
import { code, fenced, plain } from './markdown.ts'
import { exampleUrl, type Offer, type PaidRoute, paidRoutes } from './offer.ts'

/** How the calls are paid that `pay.mjs` cannot sign for; empty where there are none. */
export function meteredCalls(offer: Offer): string[] {
  const route = paidRoutes(offer).find(isMetered)
  if (!route) return []
  const schemes = schemesSold(offer.discovery)
  const official = schemes.includes('exact')
    ? `the official x402 client with ${code('UptoEvmScheme')} of ${code('@x402/evm/upto/client')} in place of ${code('ExactEvmScheme')}`
    : 'the official x402 client, as below'
  return [
    '## Pay for a metered call',
    `What ${code(`${route.method} ${route.path}`)} costs is known afterwards. You sign its maximum, ${route.most}, by x402's scheme ${code('upto')}; the call is made, and what it cost is charged.${schemes.includes('exact') ? ` ${code('pay.mjs')} cannot sign this.` : ''} A terminal can pay it, with the body in ${code('--data')} if the call needs one:`,
    fenced('sh', command(offer, route)),
    `The first time a wallet must let Permit2 (${code(PERMIT2_ADDRESS)}) move its ${plain(offer.networks[0]!.token.symbol)}: ${code('--approve')} does so for the maximum of the call, by a transaction that needs gas. Without it the call is answered 412 ${code('PERMIT2_ALLOWANCE_REQUIRED')}, and nothing is charged. In code use ${code('createBuyer')} of ${code('paystile/buyer')} with ${code('approvePermit2')}, or ${official}.`,
  ]
}

function command(offer: Offer, route: PaidRoute): string {
  const url = exampleUrl(offer, route).replaceAll("'", '%27')
  const method = route.method === 'GET' ? '' : ` --method ${route.method}`
  return `npx paystile buy '${url}'${method} --max-amount '${route.most}' --approve`
}
