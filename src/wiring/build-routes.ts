import { explorerOf } from '../config/explorer-of.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { RouteService } from '../delivery/route-service.ts'
import type { Seal } from '../delivery/seal.ts'
import type { ChargeRules } from '../delivery/stated-charge.ts'
import type { Alerts } from '../ports.ts'

/** Of every metered route. */
export function chargeRulesOf({ routes }: Pick<ResolvedConfig, 'routes'>): ChargeRules {
  return new Map(routes.flatMap(({ routeId, scheme, charge }) => (scheme ? [[routeId, charge ?? null]] : [])))
}

/** Undefined: the seller's own handlers answer routes. */
export async function buildRoutes(
  config: ResolvedConfig,
  seal: Seal,
  alerts: Alerts,
): Promise<RouteService | undefined> {
  const { backend, baseUrl } = config
  if (backend.kind === 'embedded') return undefined
  const { createCallbackService, createProxyService } = await import('../delivery/route-service.ts')
  const shared = {
    seal,
    explorerTxUrl: explorerOf(config),
    maxBytes: config.maxResourceBytes,
    trustProxy: config.trustProxy,
    rawRoutes: new Set(config.routes.filter(({ raw }) => raw).map(({ routeId }) => routeId)),
    chargeRules: chargeRulesOf(config),
    timeoutMs: (backend.kind === 'proxy' ? backend.timeoutSeconds : config.requestTimeoutSeconds) * 1000,
  }
  if (backend.kind === 'callback') {
    return createCallbackService({ ...shared, fetchResource: backend.fetchResource, alerts })
  }
  const { baseUrl: backendUrl, secret } = backend
  return createProxyService({ ...shared, backendUrl, secret, baseUrl })
}
