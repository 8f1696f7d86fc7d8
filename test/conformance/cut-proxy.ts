import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A wire between a store and its database that a test can cut at an exact moment. */
export interface CutProxy {
  port: number
  /**
   * Cuts the connection on which a client sends this: before the server gets it, or in place of the server's first answer
   * that has `answer` in it. The empty text stands for anything.
   */
  cutAt(sent: string, when: 'before' | 'after', answer?: string): void
  /** Cuts each connection after so many bytes in either direction; undefined: never. */
  cutAfterBytes(bytes: (() => number) | undefined): void
  /** Holds back every answer for so long. */
  delayMs: number
  close(): Promise<void>
}

export async function startCutProxy(targetPort: number): Promise<CutProxy> {
  const open = new Set<Socket>()
  let trigger: { sent: string; when: 'before' | 'after'; answer: string } | undefined
  let budget: (() => number) | undefined

  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        cut()
      })
    }
    let left = budget?.() ?? Number.POSITIVE_INFINITY
    let unheard: string | undefined
    let passed: Promise<void> = Promise.resolve()
    const cut = () => {
      client.destroy()
      upstream.destroy()
    }
    const spend = (chunk: Buffer, to: Socket) => {
      const part = chunk.subarray(0, left)
      left -= chunk.length
      to.write(part)
      if (left <= 0) cut()
    }
    client.on('data', (chunk) => {
      if (trigger !== undefined && chunk.includes(trigger.sent)) {
        const { when, answer } = trigger
        trigger = undefined
        if (when === 'before') return cut()
        unheard = answer
      }
      spend(chunk, upstream)
    })
    upstream.on('data', (chunk) => {
      // The server has done it and answers, but the answer is lost.
      if (unheard !== undefined && chunk.includes(unheard)) return cut()
      const held = proxy.delayMs === 0 ? undefined : sleep(proxy.delayMs)
      // One after the other, also when the delay has just been shortened: a wire does not change the order.
      passed = Promise.all([passed, held]).then(() => spend(chunk, client))
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const proxy: CutProxy = {
    port: (server.address() as AddressInfo).port,
    cutAt(sent, when, answer = '') {
      trigger = { sent, when, answer }
    },
    cutAfterBytes(bytes) {
      budget = bytes
      // Those that are open have no budget yet.
      for (const socket of open) socket.destroy()
    },
    delayMs: 0,
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
  return proxy
}
