import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

/** A TCP proxy in front of the chain's RPC that can be cut, or answer late. */
export interface RpcProxy {
  url: string
  /** Ends every connection and refuses new ones. */
  cut(): void
  mend(): void
  /** So long what the chain answers is held back from now on. */
  delay(ms: number): void
  stop(): Promise<void>
}

export async function startRpcProxy(targetUrl: string): Promise<RpcProxy> {
  const { hostname, port } = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let open = true
  let delayMs = 0
  const late = () =>
    new Transform({
      transform: (chunk, _encoding, done) =>
        delayMs === 0 ? done(null, chunk) : void setTimeout(() => done(null, chunk), delayMs),
    })
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    if (!open) return client.destroy()
    const upstream = connect(Number(port), hostname)
    keep(upstream)
    client.pipe(upstream).pipe(late()).pipe(client)
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const cut = () => {
    open = false
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    mend() {
      open = true
    },
    delay(ms) {
      delayMs = ms
    },
    async stop() {
      cut()
      await new Promise((closed) => server.close(closed))
    },
  }
}
