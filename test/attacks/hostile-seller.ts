import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Hex } from 'viem'
import { decodeJsonObject, encodeJson } from '../../src/protocol/base64.ts'
import type { PaymentPayload } from '../../src/protocol/payment.ts'

export interface Visit {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The payment that came along, decoded. */
  payment: PaymentPayload | undefined
}

/** A seller of the attacker's: it answers whatever it likes, and keeps all that it is sent. */
export interface HostileSeller {
  url: string
  host: string
  visits: Visit[]
  /** Every authorization that it could take, each once. */
  authorizations(): PaymentPayload['payload'][]
  answer(visit: Visit, response: ServerResponse): void | Promise<void>
  /** How many bytes its visitors took. */
  sent(): number
  stop(): void
}

export async function startHostileSeller(): Promise<HostileSeller> {
  const sockets: Socket[] = []
  const server = createServer(async (incoming, response) => {
    for await (const _ of incoming);
    const header = incoming.headers['payment-signature']
    const payment =
      typeof header === 'string' ? (decodeJsonObject(header) as unknown as PaymentPayload) : undefined
    const visit = { method: incoming.method!, path: incoming.url!, headers: incoming.headers, payment }
    seller.visits.push(visit)
    await seller.answer(visit, response)
  })
  server.on('connection', (socket) => sockets.push(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const seller: HostileSeller = {
    url: `http://${host}`,
    host,
    visits: [],
    authorizations() {
      const paid = seller.visits.flatMap(({ payment }) => (payment ? [payment.payload] : []))
      return [...new Map(paid.map((payload) => [payload.authorization.nonce, payload])).values()]
    },
    answer: (_visit, response) => void response.writeHead(500).end(),
    sent: () => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    stop: () => void server.close().closeAllConnections(),
  }
  return seller
}

export interface HostileTerms {
  asset: Hex
  payTo: Hex
  amount: bigint
  /** Default Base Sepolia. */
  network?: string
  /** Default `exact`. */
  scheme?: 'exact' | 'upto'
}

/** Answers 402 with terms that our own buyer accepts. */
export function offer(response: ServerResponse, terms: HostileTerms): void {
  const { asset, payTo, amount, network = 'eip155:84532', scheme = 'exact' } = terms
  const extra = { assetTransferMethod: 'permit2', facilitatorAddress: payTo }
  const accepts = [
    {
      ...{ scheme, network, asset, payTo, amount: String(amount), maxTimeoutSeconds: 900 },
      ...(scheme === 'upto' && { extra }),
    },
  ]
  const required = encodeJson({ x402Version: 2, error: 'Payment required', accepts })
  response.writeHead(402, { 'payment-required': required, 'x-svc-code': 'PAYMENT_FAILED' }).end('{}')
}

export function redirect(response: ServerResponse, status: number, location: string): void {
  response.writeHead(status, { location }).end()
}

/** A body that goes on for as long as anybody takes it. */
export async function endless(response: ServerResponse, status: number, headers = {}): Promise<void> {
  const chunk = Buffer.alloc(256 * 1024, ' ')
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  const gone = once(response, 'close')
  while (!response.closed) {
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), gone])
  }
}
