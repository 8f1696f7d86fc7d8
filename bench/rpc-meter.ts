import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface RpcMeter {
  url: string
  /** How many of these milliseconds at least one call was under way. */
  busyMs(fromMs: number, toMs: number): number
  stop(): Promise<void>
}

/**
 * Stands between a gateway and its chain and notes when calls are under way. It copies bytes and reads none of them: on
 * one connection a call begins with the client's bytes and ends with the last of the server's.
 */
export async function startRpcMeter(rpcUrl: string): Promise<RpcMeter> {
  const { hostname, port } = new URL(rpcUrl)
  const calls: Array<{ fromMs: number; toMs: number }> = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    const chain = connect({ host: hostname, port: Number(port), noDelay: true })
    let call: { fromMs: number; toMs: number } | undefined
    client.on('data', (bytes) => {
      // The answer to the last call has come, so these bytes begin another.
      if (!call || call.toMs > call.fromMs) {
        call = { fromMs: performance.now(), toMs: 0 }
        calls.push(call)
      }
      chain.write(bytes)
    })
    chain.on('data', (bytes) => {
      client.write(bytes)
      if (call) call.toMs = performance.now()
    })
    for (const [one, other] of [
      [client, chain],
      [chain, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    busyMs(fromMs, toMs) {
      const inside = calls
        .map((call) => ({ fromMs: Math.max(call.fromMs, fromMs), toMs: Math.min(call.toMs || toMs, toMs) }))
        .filter((call) => call.toMs > call.fromMs)
        .sort((a, b) => a.fromMs - b.fromMs)
      let busy = 0
      let covered = fromMs
      for (const call of inside) {
        busy += Math.max(0, call.toMs - Math.max(call.fromMs, covered))
        covered = Math.max(covered, call.toMs)
      }
      return busy
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}
