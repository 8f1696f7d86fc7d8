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

/** With an HTTP backend, through one pool of connections. */
export function createProxyService(
  config: Omit<HttpBackendConfig, 'pool'> & { backendUrl: string; baseUrl: string },
): RouteService {
  const { backendUrl, baseUrl, timeoutMs } = config
  const pool = createBackendPool({ baseUrl: backendUrl, timeoutMs })
  const forward = createForward({ ...config, pool })
  return {
    backend: createHttpBackend({ ...config, pool, publicLocation: publicLocationOf(backendUrl, baseUrl) }),
    forwardFree: (_routeId, call) => forward(call),
    forward,
    timeoutMs,
    close: pool.close,
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
