import type { IncomingMessage, ServerResponse } from 'node:http'
import { bridgeToNode } from '../../src/frameworks/node-bridge.ts'

/** A middleware for the development server: the API from the fixture, the pages under the addresses that they will have. */
export function serveFixture(
  answer: (request: Request) => Promise<Response | undefined>,
): (incoming: IncomingMessage, outgoing: ServerResponse, next: () => void) => void {
  const bridge = bridgeToNode(
    async (request) => (await answer(request)) ?? new Response(null, { status: 404 }),
  )
  return (incoming, outgoing, next) => {
    const url = incoming.url ?? '/'
    if (/^\/(setup|admin)\/api\//.test(url)) return void bridge(incoming, outgoing)
    incoming.url = url.replace(/^\/(setup|admin)(?=$|\?)/, '/$1.html')
    next()
  }
}
