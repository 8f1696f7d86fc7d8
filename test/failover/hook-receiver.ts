import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { WebhookBody } from '../../src/protocol/events.ts'

/** An endpoint that knows one secret at a time, as its owner replaces it. */
export interface HookReceiver {
  url: string
  host: string
  /** Events by their ids, each counted once. */
  taken: Map<string, WebhookBody>
  /** How many had no signature of the secret of the moment. */
  refused: number
  expect(secret: string): void
  close(): Promise<void>
}

export async function startHookReceiver(secret: string): Promise<HookReceiver> {
  let verifier = new Webhook(secret)
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    try {
      const body = verifier.verify(text, request.headers as Record<string, string>) as WebhookBody
      receiver.taken.set(String(request.headers['webhook-id']), body)
      response.writeHead(200).end()
    } catch {
      receiver.refused += 1
      response.writeHead(401).end()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const receiver: HookReceiver = {
    url: `http://${host}/hooks`,
    host,
    taken: new Map(),
    refused: 0,
    expect(next) {
      verifier = new Webhook(next)
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
  return receiver
}
