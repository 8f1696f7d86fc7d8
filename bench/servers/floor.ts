import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Bare frameworks that read the request's body and answer a fixed text with the status and size of our 402: what the
 * framework itself costs, and no more.
 */
const { PORT, FRAMEWORK, BODY, HEADERS, STATUS } = process.env
const port = Number(PORT)
const body = BODY!
const headers: Record<string, string> = JSON.parse(HEADERS!)
const status = Number(STATUS)

const start: Record<string, () => unknown> = {
  'node:http': () =>
    createServer((request, response) => {
      const answer = () => {
        response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
        response.end(body)
      }
      request.on('data', () => {}).on('end', answer)
    }).listen(port, '127.0.0.1'),
  async express() {
    const { default: express } = await import('express')
    const app = express()
    app.use(express.json())
    app.post('/x402/access', (_request, response) => void response.status(status).set(headers).send(body))
    app.listen(port, '127.0.0.1')
  },
  async fastify() {
    const { default: fastify } = await import('fastify')
    const app = fastify()
    app.post('/x402/access', (_request, reply) => reply.code(status).headers(headers).send(body))
    await app.listen({ port, host: '127.0.0.1' })
  },
  async hono() {
    const [{ Hono }, { serve }] = await Promise.all([import('hono'), import('@hono/node-server')])
    const app = new Hono()
    app.post('/x402/access', async (context) => {
      await context.req.json()
      return context.body(body, status as 402, headers)
    })
    serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (_info: AddressInfo) => {})
  },
}
await start[FRAMEWORK!]!()
process.once('SIGTERM', () => process.exit(0))
