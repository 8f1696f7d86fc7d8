import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'

/** Stands between a client and a server and loses what it is told to. */
export interface TcpProxy {
  readonly port: number
  /** Cuts the connection instead of passing on the next answer: the server has done what it was asked. */
  loseNextAnswer(): void
  /** Cuts the connection instead of passing on the next request. */
  loseNextRequest(): void
  /** Holds every answer for so long. */
  delayAnswers(ms: number): void
  stop(): Promise<void>
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  let lost: 'answer' | 'request' | undefined
  let delayMs = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = dial(targetPort, '127.0.0.1')
    const cut = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', cut)
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    const pass = (kind: 'answer' | 'request', to: Socket) => (data: Buffer) => {
      if (lost === kind) {
        lost = undefined
        cut()
      } else if (kind === 'answer' && delayMs > 0) setTimeout(() => to.write(data), delayMs)
      else to.write(data)
    }
    client.on('data', pass('request', upstream))
    upstream.on('data', pass('answer', client))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    port: (server.address() as AddressInfo).port,
    loseNextAnswer() {
      lost = 'answer'
    },
    loseNextRequest() {
      lost = 'request'
    },
    delayAnswers(ms) {
      delayMs = ms
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
