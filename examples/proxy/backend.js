// The seller's API, in any language and without payment code: a gateway in front of it sells the calls. It only checks that
// a call came through the gateway.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

export function startBackend(secret) {
  const server = createServer(async (request, response) => {
    const [path] = request.url.split('?')
    const payer = request.headers['x-svc-payer']
    const send = (status, body) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

    if (path === '/cities') return send(200, ['oslo', 'paris']) // a free route: not signed
    if (!cameThroughGateway(request, secret)) return send(403, { error: 'call the gateway' })
    if (path.startsWith('/weather/')) return send(200, { city: path.slice(9), sky: 'clear', paidBy: payer })
    if (path === '/translate') {
      const { text } = await json(request)
      return send(200, { text: [...text].reverse().join(''), paidBy: payer })
    }
    if (path.startsWith('/resource/')) return send(200, { resource: path.slice(10), wallet: payer })
    send(404, { error: 'not found' }) // for a paid call, the buyer is refunded
  })
  return new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(server)))
}

function cameThroughGateway({ method, url, headers }, secret) {
  const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['x-svc-signature']) ?? []
  if (!t || Math.abs(Date.now() / 1000 - t) > 300) return false
  const text = `${t}.${method}.${url}.${headers['x-svc-challenge-id']}.${headers['x-svc-tx-hash']}`
  return timingSafeEqual(createHmac('sha256', secret).update(text).digest(), Buffer.from(v1, 'hex'))
}
