import type { Backend, Forwarded, RouteCall } from '../ports.ts'
import { createBackendPool } from './backend-pool.ts'
import { createHttpBackend, type HttpBackendConfig } from './call-backend.ts'
import { type CallbackBackendConfig, createCallbackBackend, forwardToCallback } from './fetch-resource.ts'
import { createForward, type Forward } from './forward.ts'
import { publicLocationOf } from './response-headers.ts'

/** Answers calls: of paid routes, of free routes, and of the guarded resource of plans. */
export interface RouteService {
  backend: Backend
  forwardFree(routeId: string, call: RouteCall): Promise<Forwarded>
  /** Absent if there is no server to forward to. */
  forward?: Forward
  timeoutMs: number
  close(): Promise<void>
}

/**
 * With an HTTP backend. Clients decide how long the answers that are passed on stay open, so these have connections of their
 * own: a paid call must not wait for one, nor a plan's holder for strangers.
 */
export function createProxyService(
  config: Omit<HttpBackendConfig, 'pool'> & { backendUrl: string; baseUrl: string },
): RouteService {
  const { backendUrl, baseUrl, timeoutMs } = config
  const newPool = () => createBackendPool({ baseUrl: backendUrl, timeoutMs })
  const pools = { paid: newPool(), guarded: newPool(), free: newPool() }
  const forwardFree = createForward({ ...config, pool: pools.free })
  return {
    backend: createHttpBackend({
      ...config,
      pool: pools.paid,
      publicLocation: publicLocationOf(backendUrl, baseUrl),
    }),
    forwardFree: (_routeId, call) => forwardFree(call),
    forward: createForward({ ...config, pool: pools.guarded }),
    timeoutMs,
    async close() {
      await Promise.all(Object.values(pools).map((pool) => pool.close()))
    },
  }
}

/** With the seller's own function. */
export function createCallbackService(config: CallbackBackendConfig): RouteService {
  return {
    backend: createCallbackBackend(config),
    forwardFree: (routeId, call) => forwardToCallback(config, routeId, call),
    timeoutMs: config.timeoutMs,
    close: async () => {},
  }
}
