import { randomBytes } from 'node:crypto'
import { connectRedis, type RedisPlace } from './connect-redis.ts'
import { gatewayTag } from './gateway-tag.ts'

/**
 * Tells the other instances that something changed. A hint only: it may be lost with a connection, so whoever waits
 * must also look by itself now and then.
 */
export interface Wakeups {
  /** All ids of one turn go out together. Never throws. */
  publish(ids: readonly string[]): void
  /** Calls back with what other instances published; returns the undo. */
  subscribe(listener: (ids: string[]) => void): () => void
  close(): void
}

/**
 * Wake-ups by pub/sub. Starts also while the server is away, and then works once it is back.
 *
 * @example
 * const wakeups = await createRedisWakeups('redis://localhost:6379')
 * const stop = wakeups.subscribe((ids) => console.log('look again at', ids))
 */
export async function createRedisWakeups(url: string, place: Omit<RedisPlace, 'url'> = {}): Promise<Wakeups> {
  const channel = `${gatewayTag(place.gateway)}:wake`
  // A connection that subscribes can do nothing else.
  const [sender, receiver] = await Promise.all([
    connectRedis({ url, ...place }, 'wait'),
    connectRedis({ url, ...place }, 'wait'),
  ])
  const self = randomBytes(8).toString('hex')
  const listeners = new Set<(ids: string[]) => void>()
  const pending = new Set<string>()

  receiver.onReady(() => void receiver.call('subscribe', channel).catch(() => {}))
  receiver.onMessage((message) => {
    const heard = read(message)
    // What we said ourselves, our own waiters have heard already.
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

/** Another version of us, or anybody else with access, may say something else. */
function read(message: string): { from: unknown; ids: string[] } | undefined {
  try {
    const { from, ids } = JSON.parse(message)
    const isList = Array.isArray(ids) && ids.every((id) => typeof id === 'string')
    return isList ? { from, ids } : undefined
  } catch {
    return undefined
  }
}
