import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Turns } from '../../ports.ts'
import { connectRedis, type RedisPlace } from './connect-redis.ts'
import { gatewayTag } from './gateway-tag.ts'
import { runScript, scripts } from './scripts.ts'

/** Frees the turn of an instance that died, or never wrote what it wanted to. */
const TURN_MS = 1_000
/** Whoever has waited so long goes on without: the store decides. */
const PATIENCE_MS = 500
const RETRY_MS = 5

const nothing = () => {}

/** Turns by a key that expires. Nobody waits for the server itself: while it is away, everybody goes at once. */
export function createRedisTurns(url: string, place: Omit<RedisPlace, 'url'> = {}): Turns {
  const tag = gatewayTag(place.gateway)
  const connecting = connectRedis({ url, ...place }, 'wait')
  connecting.catch(nothing)

  async function queue(name: string): Promise<() => void> {
    const key = `${tag}:turn:${name}`
    const token = randomBytes(16).toString('hex')
    const giveUpAt = performance.now() + PATIENCE_MS
    try {
      const connection = await connecting
      while (performance.now() < giveUpAt) {
        if (await connection.call('set', key, token, 'NX', 'PX', String(TURN_MS))) {
          return () => void runScript(connection, scripts.endTurn, key, [token]).catch(nothing)
        }
        await sleep(RETRY_MS)
      }
    } catch {
      // Nobody can be asked.
    }
    return nothing
  }

  return {
    async take(name) {
      const inTime = new AbortController()
      const patience = sleep(PATIENCE_MS, nothing, { signal: inTime.signal }).catch(() => nothing)
      const turn = queue(name)
      const end = await Promise.race([turn, patience])
      inTime.abort()
      // An answer that comes too late must not hold up the others.
      if (end === nothing) void turn.then((late) => late())
      return end
    },
    close: () => void connecting.then((connection) => connection.close(), nothing),
  }
}
