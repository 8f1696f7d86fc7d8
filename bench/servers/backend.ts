import { createServer } from 'node:http'

/** The seller's own API behind the gateway: answers a fixed JSON text. */
const body = JSON.stringify({ data: 'x'.repeat(Number(process.env.BODY_BYTES)) })
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
createServer((_request, response) => response.writeHead(200, headers).end(body)).listen(
  Number(process.env.PORT),
  '127.0.0.1',
)
