import type { Engine } from '../../engine/outcome.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { Endpoint, Mount } from '../http/endpoint.ts'
import { JSON_HEADERS } from '../http/headers.ts'
import { jsonReply } from '../http/reply.ts'
import { soldHere } from '../sold-here.ts'
import { agentCard, type CardConfig } from './agent-card.ts'
import { createPurchases, type Purchases } from './purchases.ts'
import { createRequestHandler } from './request-handler.ts'
import { createRpcEndpoint } from './serve-json-rpc.ts'
import { agentMessage, dataPart, textPart } from './task-view.ts'

export interface A2a {
  mount: Mount
  /** Resolves when no purchase is under way: some of them nobody waits for. */
  idle(): Promise<void>
}

/** A2A at `/a2a`, and the agent card at both of its places. */
export function createA2a(
  config: CardConfig,
  switches: { streaming: boolean; transferProofs: boolean },
  engine: Pick<Engine, 'purchase' | 'status' | 'inspect' | 'watch' | 'cancel' | 'offerAgain'>,
  catalogNow: () => DiscoveryCatalog,
  servesRoutes: boolean,
): A2a {
  const sold = soldHere(catalogNow(), servesRoutes)
  const published = (path: string) => {
    const headers = { ...JSON_HEADERS, 'cache-control': 'public, max-age=300' }
    return jsonReply(200, headers, agentCard(config, sold, { path, ...switches }))
  }
  const onAccess = published('/x402/access')
  const onItsOwn = published('/a2a')
  const card: Endpoint = (_request, peer) => (peer.a2aOnAccess ? onAccess : onItsOwn)
  let purchases: Purchases | undefined

  return {
    mount(context) {
      const { report } = context
      const { transferProofs } = switches
      const { x402 } = context.dialects
      const sale = { x402, baseUrl: config.baseUrl, transferProofs, offerAgain: engine.offerAgain }
      purchases = createPurchases(engine, sale, report)
      const handler = createRequestHandler({
        ...switches,
        x402,
        engine,
        purchases,
        sale,
        report,
        catalogMessage: (contextId) => catalogMessage(soldHere(catalogNow(), servesRoutes), contextId),
      })
      return {
        '/a2a': { POST: createRpcEndpoint(context, handler) },
        '/.well-known/agent.json': { GET: card },
        '/.well-known/agent-card.json': { GET: card },
      }
    },
    idle: async () => purchases?.idle(),
  }
}

function catalogMessage(sold: DiscoveryCatalog, contextId = '') {
  const asks = [
    ...(sold.plans.length > 0 ? ['{"type": "AccessRequest", "planId": "…", "requestId": "…"}'] : []),
    ...(sold.routes.length > 0
      ? [
          '{"type": "AccessRequest", "routeId": "…", "resource": {"method": "…", "path": "…"}, "requestId": "…"}',
        ]
      : []),
  ]
  const text =
    asks.length > 0
      ? `To buy, send a data part ${asks.join(', or ')}. This is what can be bought:`
      : 'Nothing is sold by A2A here. GET /discover lists the routes that are called, and paid, directly.'
  return agentMessage([textPart(text), dataPart({ type: 'Catalog', ...sold })], { taskId: '', contextId })
}
