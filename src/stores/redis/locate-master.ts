import { Redis, type RedisOptions } from 'ioredis'

export interface Place {
  host: string
  port: number
}

/**
 * Which node of a cluster holds this key now. All keys of a gateway share one slot, so one plain connection to that node is
 * all we need: a client that follows the cluster by itself would also send a step again after a lost connection, and run
 * it on a node that has only part of the rows while the slot moves there (ASK).
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
      // A node that was never told its own address leaves it out.
      return { host: host || node.host, port }
    } catch (error) {
      failure ??= error
    } finally {
      client.disconnect()
    }
  }
  throw failure
}
