import { randomBytes } from 'node:crypto'
import { connectRedis, type RedisPlace } from './connect-redis.ts'
import { gatewayTag } from './gateway-tag.ts'

/**
 * Tells the other instances that something changed. It is only a hint and may be lost with a connection, so those who wait
 * must also poll.
 */
export interface Wakeups {
  /** Publishes ids; those of one tick are sent together. Never throws. */
  publish(ids: readonly string[]): void
  /** Calls the listener with what other instances published; returns a function that ends it. */
  subscribe(listener: (ids: string[]) => void): () => void
  close(): void
}

/**
 * Wake-ups by pub/sub. Can be created while the server is down or does not take us, and works once it does. `onAbsent` is told
 * why it cannot be used yet.
 *
 * @example
 * const wakeups = await createRedisWakeups('redis://localhost:6379')
 * const stop = wakeups.subscribe((ids) => console.log('look again at', ids))
 */
export async function createRedisWakeups(
  url: string,
  { onAbsent, ...place }: Omit<RedisPlace, 'url'> & { onAbsent?(reason: Error): void } = {},
): Promise<Wakeups> {
  const channel = `${gatewayTag(place.gateway)}:wake`
  // A connection that subscribes cannot be used for other commands.
  const [sender, receiver] = await Promise.all([
    connectRedis({ url, ...place }, 'wait', onAbsent),
    connectRedis({ url, ...place }, 'wait'),
  ])
  const self = randomBytes(8).toString('hex')
  const listeners = new Set<(ids: string[]) => void>()
  const pending = new Set<string>()

  receiver.onReady(() => void receiver.call('subscribe', channel).catch(() => {}))
  receiver.onMessage((message) => {
    const heard = read(message)
    // Our own messages: this instance has been notified already.
    if (heard !== undefined && heard.from !== self) for (const listener of listeners) listener(heard.ids)
  })

  function send(): void {
    const message = JSON.stringify({ from: self, ids: [...pending] })
    pending.clear()
    sender.call('publish', channel, message).catch(() => {})
  }

  return {
    publish(ids) {
      if (pending.size === 0 && ids.length > 0) setImmediate(send)
      for (const id of ids) pending.add(id)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close() {
      sender.close()
      receiver.close()
    },
  }
}

/** Checked, because another version, or anybody with access, may have published something else. */
function read(message: string): { from: unknown; ids: string[] } | undefined {
  try {
    const { from, ids } = JSON.parse(message)
    const isList = Array.isArray(ids) && ids.every((id) => typeof id === 'string')
    return isList ? { from, ids } : undefined
  } catch {
    return undefined
  }
}
