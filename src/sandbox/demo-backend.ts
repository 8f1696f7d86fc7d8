import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The plan whose credentials cannot be issued: it shows that the buyer is refunded when delivery fails. */
export const BROKEN_PLAN = 'broken'

/**
 * The API of the sandbox's seller. It issues a key when the gateway reports a payment, and gives data to everybody who has
 * a key; forecasts of single cities are called through the gateway. It knows nothing of payments.
 */
export async function startDemoBackend(): Promise<{ url: string; close(): Promise<void> }> {
  /** One key per challenge: a second request for the same challenge gets the same key. */
  const keys = new Map<string, { key: string; planId: string; expiresAt: string }>()

  async function issueToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const order = JSON.parse(await readText(request)) as { challengeId: string; planId: string }
    if (order.planId === BROKEN_PLAN) return answer(response, 500, { error: 'the key service is down' })
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const known = keys.get(order.challengeId)
    const issued = known ?? {
      key: `demo-${randomBytes(16).toString('hex')}`,
      planId: order.planId,
      expiresAt,
    }
    keys.set(order.challengeId, issued)
    answer(response, 200, { token: issued.key, expiresAt: issued.expiresAt })
  }

  function serveData(request: IncomingMessage, response: ServerResponse): void {
    const key = request.headers.authorization?.replace(/^Bearer /, '')
    const owner = [...keys.values()].find((issued) => issued.key === key)
    if (!owner) answer(response, 401, { error: 'buy a plan first' })
    else answer(response, 200, { plan: owner.planId, ...weather() })
  }

  const server = createServer((request, response) => {
    const [, first, second = ''] = new URL(request.url ?? '/', 'http://localhost').pathname.split('/')
    const route = `${request.method} ${first}`
    if (route === 'POST issue-token') {
      issueToken(request, response).catch(() => answer(response, 400, { error: 'a JSON body is expected' }))
    } else if (route === 'GET data') serveData(request, response)
    else if (route === 'GET forecast') answer(response, 200, { city: second, ...weather() })
    else answer(response, 404, { error: 'there are only GET /data/:resourceId and GET /forecast/:city' })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}

const weather = () => ({ forecast: 'sunny', temperatureCelsius: 21, at: new Date().toISOString() })

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
