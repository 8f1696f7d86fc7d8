import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Effect } from './effects.ts'
import type { When } from './trigger.ts'

/** Stops at an effect outside the gateway. Never resolves where the gateway was killed at it. */
export type Reach = (effect: Effect, when: When) => Promise<void>

export interface Outside {
  url: string
  close(): Promise<void>
}

/** A local server that reads each request whole before it is handled. */
export async function serve(
  handle: (request: IncomingMessage, body: string, response: ServerResponse) => Promise<void>,
): Promise<Outside> {
  const server = createServer(async (request, response) => {
    try {
      let body = ''
      for await (const chunk of request) body += chunk
      await handle(request, body, response)
    } catch {
      // The gateway was killed while it asked, or the chain is gone.
      response.destroy()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}

/** Passes everything on to `target`, whose effects are real; stops before it does and after it has the answer. */
export function startProxy(
  target: string,
  effectOf: (path: string, body: string) => Effect,
  reach: Reach,
): Promise<Outside> {
  return serve(async ({ method = 'GET', url = '/' }, body, response) => {
    const effect = effectOf(url, body)
    await reach(effect, 'before')
    const answer = await fetch(target + url, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== '' && { body }),
    })
    const text = await answer.text()
    await reach(effect, 'after')
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
  })
}

export function rpcEffect(_path: string, body: string): Effect {
  const calls: unknown = JSON.parse(body)
  const methods = (Array.isArray(calls) ? calls : [calls]).map(({ method }: { method: string }) => method)
  return { kind: 'rpc', methods }
}

/** A token endpoint that keeps its promise: one token per idempotency key. */
export function startTokenApi(works: () => boolean, reach: Reach): Promise<Outside> {
  return serve(async ({ headers }, _body, response) => {
    await reach({ kind: 'token-api' }, 'before')
    const token = `token-of-${headers['idempotency-key']}`
    await reach({ kind: 'token-api' }, 'after')
    if (works())
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token }))
    else response.writeHead(500).end('out of order')
  })
}

/** What the backend says of metered calls: half of their maximum. Routes with a fixed price do not listen to it. */
const METERED_CHARGE = JSON.stringify({ amount: '50%' })

/** What the backend never answers well. */
export const FAILING_CALL = '/weather/failing'

/** The API behind a paid route; records for which payments it worked. */
export function startBackend(works: () => boolean, reach: Reach): Promise<Outside> {
  return serve(async ({ headers, url }, _body, response) => {
    await reach({ kind: 'backend' }, 'before')
    const answer = { url, workedFor: headers['x-svc-challenge-id'] }
    await reach({ kind: 'backend' }, 'after')
    if (works() && url !== FAILING_CALL)
      response
        .writeHead(200, { 'content-type': 'application/json', 'settlement-overrides': METERED_CHARGE })
        .end(JSON.stringify(answer))
    else response.writeHead(500).end('out of order')
  })
}
