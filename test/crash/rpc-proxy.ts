import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A JSON-RPC proxy that can hold a method back, to stop a process at an exact point from the outside. */
export interface RpcProxy {
  url: string
  /** Requests with this method are neither forwarded nor answered; resolves when the first one has come. */
  hold(method: string): Promise<void>
  release(): void
  close(): Promise<void>
}

export async function startRpcProxy(target: string): Promise<RpcProxy> {
  let held: { method: string; come: () => void } | undefined
  const server = createServer(async (request, response) => {
    try {
      let body = ''
      for await (const chunk of request) body += chunk
      if (held && body.includes(`"${held.method}"`)) return held.come()
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(target, { method: 'POST', headers, body })
      response.writeHead(answer.status, headers).end(await answer.text())
    } catch {
      // The caller was killed, or the chain is gone.
      response.destroy()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: (method) =>
      new Promise((come) => {
        held = { method, come }
      }),
    release() {
      held = undefined
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}
