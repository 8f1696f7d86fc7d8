import { Redis, type RedisOptions } from 'ioredis'

export interface Place {
  host: string
  port: number
}

/**
 * Finds the node of a cluster that holds this key now. All keys of a gateway are in one slot, so one plain connection to that
 * node is enough. A cluster client is not used: it would send a step again after a lost connection, and would run it on a
 * node that has only a part of the rows while the slot is being moved (ASK).
 */
export async function locateMaster(
  nodes: readonly Place[],
  key: string,
  options: RedisOptions,
): Promise<Place> {
  let failure: unknown
  for (const node of nodes) {
    const client = new Redis({ ...options, ...node, lazyConnect: true, retryStrategy: () => null })
    client.on('error', (error) => {
      failure = error
    })
    try {
      await client.connect()
      const slot = Number(await client.call('cluster', 'KEYSLOT', key))
      const ranges = (await client.call('cluster', 'SLOTS')) as Array<[number, number, [string, number]]>
      const range = ranges.find(([first, last]) => first <= slot && slot <= last)
      if (range === undefined) throw new Error(`no node of the cluster holds slot ${slot}`)
      const [host, port] = range[2]
      // A node that does not know its own address leaves it empty.
      return { host: host || node.host, port }
    } catch (error) {
      failure ??= error
    } finally {
      client.disconnect()
    }
  }
  throw failure
}
