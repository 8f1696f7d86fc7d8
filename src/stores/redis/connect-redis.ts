import { Redis, type RedisOptions } from 'ioredis'
import { ConfigError, UnavailableError } from '../../errors.ts'
import { isLastingTlsFault, reasonOf } from '../../reason-of.ts'
import { gatewayTag } from './gateway-tag.ts'
import { locateMaster, type Place } from './locate-master.ts'
import { parseRedisUrl, type RedisAddress } from './parse-redis-url.ts'

/** The part of a driver that we use. A call that rejects may nevertheless have run, or may still run. */
export interface RedisConnection {
  call(command: string, ...args: string[]): Promise<unknown>
  /** Calls the listener whenever the connection is ready: now, and after each reconnect. */
  onReady(listener: () => void): void
  onMessage(listener: (message: string) => void): void
  close(): void
}

export interface RedisPlace {
  /** See parseRedisUrl. */
  url: string
  /** PEM of the authority that signed the server's certificate, if it is not a public one. */
  ca?: string | undefined
  /** The name of the gateway: gateways on one server need different names, instances of one gateway the same. Default `default`. */
  gateway?: string | undefined
  /** A call without an answer after this time is given up; whether it ran is not known. */
  timeoutMs?: number | undefined
}

const TIMEOUT_MS = 5_000
const LONGEST_RETRY_MS = 1_000

/**
 * Connects, and reconnects after a lost connection until `close`. A command that was sent on a lost connection is never sent
 * again, and without a connection calls fail at once: only the caller knows whether a second write is right.
 *
 * @param whenAbsent `fail`: UnavailableError if no server answers in time, and ConfigError if it does not take us. `wait`: keep
 * trying in the background, whatever it is: its operator may mend a password or a certificate.
 * @param onAbsent Told, where we keep trying, why the server cannot be used yet.
 */
export async function connectRedis(
  { url, ca, gateway, timeoutMs = TIMEOUT_MS }: RedisPlace,
  whenAbsent: 'fail' | 'wait' = 'fail',
  onAbsent: (reason: Error) => void = () => {},
): Promise<RedisConnection> {
  const address = parseRedisUrl(url)
  const options: RedisOptions = {
    ...driverOptions(address, ca),
    // Every server, proxy and managed service supports RESP2, and nothing more is needed.
    protocol: 2,
    commandTimeout: timeoutMs,
    // Disconnect from a server that does not answer: otherwise every later call would wait for its full timeout.
    socketTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    sentinelCommandTimeout: timeoutMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(times * 50, LONGEST_RETRY_MS),
    sentinelRetryStrategy: (times) => Math.min(times * 50, LONGEST_RETRY_MS),
    // The master became a replica or moved the slot: find the new one. 1: reconnect without sending the command again.
    reconnectOnError: (error) => (/READONLY|^MOVED /.test(error.message) ? 1 : false),
  }
  // Each connection to a cluster begins by finding the node that has our slot.
  const asking = address.cluster && { lazyConnect: true, retryStrategy: () => null }
  const client = new Redis({ ...options, ...asking })
  let closed = false
  const close = () => {
    closed = true
    const isConnecting = client.status === 'connecting'
    client.disconnect()
    // Half a handshake that ends politely may be answered with a second error, which ioredis does not listen to: it would end
    // the process.
    if (isConnecting) client.stream?.destroy()
  }
  client.on('error', (error: DriverError) => {
    // ioredis would continue in database 0, which may belong to another gateway.
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
    // A failed attempt to connect is handled like a lost connection.
    await client.connect().catch(() => {})
  }
  async function goToMaster(): Promise<void> {
    const master = await locateMaster(nodes, gatewayTag(gateway), options)
    Object.assign(client.options, master)
    // Remember the known nodes: those in the URL may all be replaced over time.
    if (!nodes.some(({ host, port }) => host === master.host && port === master.port)) nodes.push(master)
  }
  // ioredis stops reconnecting if a failover is announced while it looks for the master; for clusters we tell it to.
  client.on('end', reachLater)
  if (nodes.length > 0) void reach()
  try {
    await firstReady(client, address.label, timeoutMs)
  } catch (error) {
    if (whenAbsent === 'fail') {
      close()
      throw error
    }
    onAbsent(error as Error)
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

/** Removes the command from the driver's errors: it may hold signatures and passwords, and errors are logged. */
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

/** Wrong credentials, a wrong database number or a wrong certificate do not go away by waiting, so these errors end the wait. */
function lastingFault(error: Error, label: string): ConfigError | undefined {
  if (/^(WRONGPASS|NOAUTH|NOPERM|ERR) /.test(error.message)) {
    return new ConfigError([`${label} refuses us: ${error.message}`])
  }
  if (!isLastingTlsFault(error)) return undefined
  const fix = 'Name its authority in NODE_EXTRA_CA_CERTS, or fix the certificate or the host.'
  return Object.assign(new ConfigError([`${label} ${reasonOf(error)}. ${fix}`]), { cause: error })
}

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
      const fault = lastingFault(error, label)
      if (fault) settle(() => reject(fault))
    }
    const late = () => {
      const cause = lastError ?? Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })
      settle(() => reject(new UnavailableError(label, cause, `Redis ${reasonOf(cause)}`)))
    }
    const timer = setTimeout(late, timeoutMs)
    client.on('ready', onReady)
    client.on('error', onError)
  })
}
