import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { WebhookBody } from '../../src/protocol/events.ts'
import { secretOf } from '../../src/webhooks/sign-webhook.ts'

export interface ReceivedEvent extends WebhookBody {
  id: string
}

/** A seller's endpoint over real HTTP that takes only what the official library verifies. */
export interface WebhookReceiver {
  readonly url: string
  readonly host: string
  readonly secret: string
  /** All that was taken, in this order, repeated ones as well. */
  readonly events: ReceivedEvent[]
  /** What it refused because the signature was wrong. */
  readonly forged: string[]
  /** What it answers instead of 200, for some or all. */
  answer(type: string): number
  /** Ends it, or lets it come back on the same port. */
  down(): Promise<void>
  up(): Promise<void>
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const secret = secretOf(new Uint8Array(32).fill(7))
  const verifier = new Webhook(secret)
  let server: Server | undefined
  let port = 0
  const receiver = {
    secret,
    events: [] as ReceivedEvent[],
    forged: [] as string[],
    answer: (_type: string) => 200,
    get host() {
      return `127.0.0.1:${port}`
    },
    get url() {
      return `http://127.0.0.1:${port}/hooks`
    },
    async down() {
      const closed = new Promise((done) => server?.close(done))
      server?.closeAllConnections()
      await closed
    },
    async up() {
      server = createServer(async (request, response) => {
        let text = ''
        for await (const chunk of request) text += chunk
        try {
          const body = verifier.verify(text, request.headers as Record<string, string>) as WebhookBody
          const status = receiver.answer(body.type)
          if (status === 200) receiver.events.push({ id: String(request.headers['webhook-id']), ...body })
          response.writeHead(status).end()
        } catch {
          receiver.forged.push(text)
          response.writeHead(401).end()
        }
      })
      await new Promise<void>((listening) => server!.listen(port, '127.0.0.1', listening))
      port = (server.address() as AddressInfo).port
    },
  }
  await receiver.up()
  return receiver
}
