import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy in front of the chain's RPC that counts what the gateway asks. */
export interface CountingRpc {
  url: string
  /** JSON-RPC calls since `ask` began; the members of a batch are counted one by one. */
  callsOf(ask: () => Promise<unknown>): Promise<number>
  stop(): Promise<void>
}

export async function startCountingRpc(target: string): Promise<CountingRpc> {
  let calls = 0
  const server = createServer(async (request, response) => {
    try {
      let body = ''
      for await (const chunk of request) body += chunk
      const asked: unknown = JSON.parse(body)
      calls += Array.isArray(asked) ? asked.length : 1
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(target, { method: 'POST', headers, body })
      response.writeHead(answer.status, headers).end(await answer.text())
    } catch {
      response.destroy()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async callsOf(ask) {
      const before = calls
      await ask()
      return calls - before
    },
    stop: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
