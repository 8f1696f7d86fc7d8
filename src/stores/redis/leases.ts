import { randomBytes } from 'node:crypto'
import { UnavailableError } from '../../errors.ts'
import { connectRedis, type RedisPlace } from './connect-redis.ts'
import { gatewayTag } from './gateway-tag.ts'
import { runScript, scripts } from './scripts.ts'

export interface Lease {
  /** Prolongs it by its full time. False: it lapsed, and somebody else may hold it. */
  renew(): Promise<boolean>
  release(): Promise<void>
}

/**
 * Keeps instances out of each other's way. A lease makes nothing safe: it may lapse while its holder works, and a failover
 * may forget it. What must not happen twice is refused by the store's versions. So whoever cannot ask (UnavailableError)
 * may go on without.
 */
export interface Leases {
  /** Undefined: somebody else holds it. */
  tryTake(name: string, ttlMs: number): Promise<Lease | undefined>
  close(): void
}

export async function createRedisLeases(
  url: string,
  { gateway, ...place }: Omit<RedisPlace, 'url'> & { gateway?: string } = {},
): Promise<Leases> {
  const tag = gatewayTag(gateway)
  const connection = await connectRedis({ url, ...place }, 'wait')

  async function ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      throw new UnavailableError('the redis lease', cause)
    }
  }

  return {
    async tryTake(name, ttlMs) {
      const key = `${tag}:lease:${name}`
      const token = randomBytes(16).toString('hex')
      const taken = await ask(() => connection.call('set', key, token, 'NX', 'PX', String(ttlMs)))
      if (taken === null) return undefined
      return {
        renew: () =>
          ask(
            async () => (await runScript(connection, scripts.renewLease, key, [token, String(ttlMs)])) === 1,
          ),
        release: () =>
          ask(async () => void (await runScript(connection, scripts.releaseLease, key, [token]))),
      }
    },
    close: () => connection.close(),
  }
}
