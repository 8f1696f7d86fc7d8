import { Redis, type RedisOptions } from 'ioredis'
import { ConfigError, UnavailableError } from '../../errors.ts'
import { gatewayTag } from './gateway-tag.ts'
import { locateMaster, type Place } from './locate-master.ts'
import { parseRedisUrl, type RedisAddress } from './parse-redis-url.ts'

/** All that we need of a driver. A call that rejects may still have run, or may yet run. */
export interface RedisConnection {
  call(command: string, ...args: string[]): Promise<unknown>
  /** Calls back whenever the connection is ready, now and after each reconnect. */
  onReady(listener: () => void): void
  onMessage(listener: (message: string) => void): void
  close(): void
}

export interface RedisPlace {
  /** See parseRedisUrl. */
  url: string
  /** PEM of the authority that signed the server's certificate, where it is not a public one. */
  ca?: string | undefined
  /** Gateways that share a server keep apart by their names; instances of one gateway share one. Default `default`. */
  gateway?: string | undefined
  /** Within this time every call has its answer or is given up as unknown. */
  timeoutMs?: number | undefined
}

const TIMEOUT_MS = 5_000
const LONGEST_RETRY_MS = 1_000

/**
 * Connects, and stays connected: a lost connection is made again until `close`. What was sent on a lost one is never sent
 * again, and without a connection calls are refused at once: the caller alone knows whether a second write is right.
 *
 * @param whenAbsent `fail`: UnavailableError if no server answers in time. `wait`: go on trying in the background.
 */
export async function connectRedis(
  { url, ca, gateway, timeoutMs = TIMEOUT_MS }: RedisPlace,
  whenAbsent: 'fail' | 'wait' = 'fail',
): Promise<RedisConnection> {
  const address = parseRedisUrl(url)
  const options: RedisOptions = {
    ...driverOptions(address, ca),
    // RESP2 is what every server, proxy and managed offer speaks; nothing here needs more.
    protocol: 2,
    commandTimeout: timeoutMs,
    // A server that is silent is left: otherwise a dead network would hold every later call for its full time.
    socketTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    sentinelCommandTimeout: timeoutMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(times * 50, LONGEST_RETRY_MS),
    sentinelRetryStrategy: (times) => Math.min(times * 50, LONGEST_RETRY_MS),
    // The master became a replica, or gave the slot away: look for the new one. 1: without sending the command again.
    reconnectOnError: (error) => (/READONLY|^MOVED /.test(error.message) ? 1 : false),
  }
  // Each connection to a cluster begins with the question which node it goes to.
  const asking = address.cluster && { lazyConnect: true, retryStrategy: () => null }
  const client = new Redis({ ...options, ...asking })
  let closed = false
  const close = () => {
    closed = true
    client.disconnect()
  }
  client.on('error', (error: DriverError) => {
    // ioredis would go on in database 0, which may be another gateway's.
    if (error.command?.name === 'select' && !closed) client.disconnect(true)
    withoutArguments(error)
  })
  const nodes: Place[] = [...(address.cluster ?? [])]
  const reachLater = () => void setTimeout(reach, LONGEST_RETRY_MS).unref()
  async function reach(): Promise<void> {
    if (closed) return
    try {
      if (nodes.length > 0) await goToMaster()
    } catch (error) {
      client.emit('error', error)
      return reachLater()
    }
    // A connection that cannot be made ends as one that is lost does.
    await client.connect().catch(() => {})
  }
  async function goToMaster(): Promise<void> {
    const master = await locateMaster(nodes, gatewayTag(gateway), options)
    Object.assign(client.options, master)
    // The nodes of the URL may all be replaced in time.
    if (!nodes.some(({ host, port }) => host === master.host && port === master.port)) nodes.push(master)
  }
  // ioredis gives up where a failover is announced while it looks for the master; on a cluster it is told to.
  client.on('end', reachLater)
  if (nodes.length > 0) void reach()
  try {
    await firstReady(client, address.label, timeoutMs)
  } catch (error) {
    if (whenAbsent === 'fail' || error instanceof ConfigError) {
      close()
      throw error
    }
  }
  return {
    async call(command, ...args) {
      try {
        return await client.call(command, ...args)
      } catch (error) {
        throw withoutArguments(error as DriverError)
      }
    },
    onReady(listener) {
      client.on('ready', listener)
      if (client.status === 'ready') listener()
    },
    onMessage: (listener) =>
      void client.on('message', (_channel: string, message: string) => listener(message)),
    close,
  }
}

type DriverError = Error & { command?: { name?: string } }

/** The driver hangs what was sent on its errors: signatures, passwords. Errors end in logs. */
function withoutArguments(error: DriverError): Error {
  delete error.command
  return error
}

function driverOptions(address: RedisAddress, ca: string | undefined) {
  const { tls, label: _, cluster: __, sentinels, name, sentinelPassword, ...rest } = address
  const secure = ca === undefined ? {} : { ca }
  return {
    ...rest,
    ...(tls && { tls: secure }),
    ...(sentinels && {
      sentinels,
      name,
      failoverDetector: true,
      ...(sentinelPassword && { sentinelPassword }),
      ...(tls && { sentinelTLS: secure, enableTLSForSentinelMode: true }),
    }),
  }
}

/** Wrong credentials or a wrong database number will not mend themselves: these end the wait. */
function firstReady(client: Redis, label: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let lastError: Error | undefined
    const settle = (end: () => void) => {
      clearTimeout(timer)
      client.off('ready', onReady)
      client.off('error', onError)
      end()
    }
    const onReady = () => settle(resolve)
    const onError = (error: Error) => {
      lastError = error
      if (!/^(WRONGPASS|NOAUTH|NOPERM|ERR) /.test(error.message)) return
      settle(() => reject(new ConfigError([`${label} refuses us: ${error.message}`])))
    }
    const timer = setTimeout(() => settle(() => reject(new UnavailableError(label, lastError))), timeoutMs)
    client.on('ready', onReady)
    client.on('error', onError)
  })
}
