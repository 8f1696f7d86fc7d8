import { openDashboard } from '../../src/server/admin/open-dashboard.ts'
import { createObserver } from '../../src/server/observe/create-observer.ts'
import { serveHttp } from '../../src/server/serve-http.ts'
import { startRoutesWorld } from './routes-world.ts'

export type Json = Record<string, unknown>

/** The operator's API on the same port, without its login. */
export async function startDashboard(options: Parameters<typeof startRoutesWorld>[0] = {}) {
  const observer = createObserver({ logLevel: 'debug', alertWebhookUrl: null, write: () => undefined })
  const routes = await startRoutesWorld({
    ...options,
    instruments: observer.instruments,
    async serve(gateway, port) {
      const { api, close } = openDashboard({ gateway, observer })
      const server = await serveHttp({
        handler: async (request, peer) => {
          return (await api(request, new URL(request.url).pathname)) ?? gateway.fetch(request, peer)
        },
        port,
        host: '127.0.0.1',
      })
      return {
        async close() {
          close()
          await server.close()
        },
      }
    },
  })
  const ask = async (path: string, body?: unknown) => {
    const response = await fetch(`${routes.world.baseUrl}/admin/api${path}`, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json' },
    })
    return { status: response.status, body: (await response.json()) as Json, headers: response.headers }
  }
  return { routes, observer, ask }
}

/** Asks the operator's API. */
export type AskDashboard = Awaited<ReturnType<typeof startDashboard>>['ask']
