import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import { IdString } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import { paidIn } from '../name-networks.ts'
import { inputSchema, type McpTool, parseArguments } from './tool.ts'

const NAME = 'request_access'

/** How a sold tool tells one purchase from the next. */
export const RequestId = IdString.describe(
  'Makes retries safe before the payment is signed: the same id is the same purchase. Default: made from the payment.',
)

const Arguments = z.strictObject({
  planId: IdString.describe('A planId of discover_plans.'),
  resourceId: IdString.describe('What the access is for.').optional().meta({ default: DEFAULT_RESOURCE_ID }),
  requestId: RequestId.optional(),
})

/**
 * Sells a plan. It declares no outputSchema: the first answer, an error with payment requirements, would have to fit it.
 */
export function requestAccessTool(networks: readonly Network[]): McpTool {
  return {
    listing: {
      name: NAME,
      title: 'Request access',
      description:
        `Buys access to a plan for ${networks.length > 1 ? paidIn(networks) : 'USDC'} (x402 or MPP). Without a payment it answers the payment requirements; called again with ` +
        'the same arguments and the signed payment in _meta["x402/payment"] (MPP: _meta["org.paymentauth/credential"]) it answers an AccessGrant with a ' +
        'bearer token.',
      inputSchema: inputSchema(Arguments),
      annotations: { readOnlyHint: false, destructiveHint: false },
    },
    kind: 'sold',
    intentOf(args) {
      const asked = parseArguments(NAME, Arguments, args)
      if (asked instanceof GatewayError) return asked
      const { planId, resourceId, requestId } = asked
      return {
        transport: 'mcp',
        planId,
        ...(resourceId !== undefined && { resourceId }),
        ...(requestId !== undefined && { requestId }),
      }
    },
  }
}
