import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The call that is never answered well: it shows that the buyer is refunded when delivery fails. */
export const BROKEN_PATH = '/broken'

/**
 * The API of the sandbox's seller, behind the gateway, which lets through whoever bought a plan and whoever pays for a
 * call. It knows nothing of payments.
 */
export async function startDemoBackend(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const [, first, second = ''] = new URL(request.url ?? '/', 'http://localhost').pathname.split('/')
    const route = `${request.method} /${first}`
    if (route === 'GET /resource') answer(response, 200, { plan: planOf(request), ...weather() })
    else if (route === 'GET /forecast') answer(response, 200, { city: second, ...weather() })
    else if (route === `GET ${BROKEN_PATH}`) answer(response, 500, { error: 'the weather station is down' })
    else answer(response, 404, { error: 'there are only GET /resource/:resourceId and GET /forecast/:city' })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}

/** The gateway names the plan whose token opened the resource. */
const planOf = ({ headers }: IncomingMessage) => headers['x-svc-plan-id']

const weather = () => ({ forecast: 'sunny', temperatureCelsius: 21, at: new Date().toISOString() })

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
