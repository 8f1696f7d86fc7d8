import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of the chain's RPC that can be cut. */
export interface RpcProxy {
  url: string
  /** Ends every connection and refuses new ones. */
  cut(): void
  mend(): void
  stop(): Promise<void>
}

export async function startRpcProxy(targetUrl: string): Promise<RpcProxy> {
  const { hostname, port } = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let open = true
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    if (!open) return client.destroy()
    const upstream = connect(Number(port), hostname)
    keep(upstream)
    client.pipe(upstream).pipe(client)
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
    async stop() {
      cut()
      await new Promise((closed) => server.close(closed))
    },
  }
}
