import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Turns } from '../../ports.ts'
import { connectRedis, type RedisPlace } from './connect-redis.ts'
import { gatewayTag } from './gateway-tag.ts'
import { runScript, scripts } from './scripts.ts'

/** After this time a turn ends, in case its instance has died or never wrote. */
const TURN_MS = 1_000
/** After this time a caller continues without a turn; the store's versions keep it safe. */
const TIMEOUT_MS = 500
const RETRY_MS = 5

const nothing = () => {}

/** Turns by means of a key that expires. While the server cannot be used, nobody waits for a turn. */
export function createRedisTurns(url: string, place: Omit<RedisPlace, 'url'> = {}): Turns {
  const tag = gatewayTag(place.gateway)
  const connecting = connectRedis({ url, ...place }, 'wait')
  connecting.catch(nothing)

  async function queue(name: string): Promise<() => void> {
    const key = `${tag}:turn:${name}`
    const token = randomBytes(16).toString('hex')
    const giveUpAt = performance.now() + TIMEOUT_MS
    try {
      const connection = await connecting
      while (performance.now() < giveUpAt) {
        if (await connection.call('set', key, token, 'NX', 'PX', String(TURN_MS))) {
          return () => void runScript(connection, scripts.endTurn, key, [token]).catch(nothing)
        }
        await sleep(RETRY_MS)
      }
    } catch {
      // Redis cannot be used, so continue without a turn.
    }
    return nothing
  }

  return {
    async take(name) {
      const inTime = new AbortController()
      const waited = sleep(TIMEOUT_MS, nothing, { signal: inTime.signal }).catch(() => nothing)
      const turn = queue(name)
      const end = await Promise.race([turn, waited])
      inTime.abort()
      // A turn that is granted too late is ended at once, so that others need not wait for it.
      if (end === nothing) void turn.then((late) => late())
      return end
    },
    close: () => void connecting.then((connection) => connection.close(), nothing),
  }
}
