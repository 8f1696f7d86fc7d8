import type { IncomingMessage } from 'node:http'

/**
 * Who is asking. `X-Forwarded-For` counts only behind `trustProxy` proxies, and then from the right: what stands
 * further left was written by the client and would let it choose its own address.
 */
export function remoteAddress(incoming: IncomingMessage, trustProxy: boolean | number): string | undefined {
  const direct = incoming.socket.remoteAddress
  const hops = Number(trustProxy)
  if (hops > 0) {
    const header = incoming.headers['x-forwarded-for']
    const list = (Array.isArray(header) ? header.join(',') : (header ?? ''))
      .split(',')
      .map((item) => item.trim())
    const forwarded = list.at(-hops) ?? list[0]
    if (forwarded) return plain(forwarded)
  }
  return direct === undefined ? undefined : plain(direct)
}

/**
 * An IPv4 address that arrived on an IPv6 socket is still that IPv4 address; and some proxies write the client's port
 * beside it, which would make an address of each connection.
 */
function plain(address: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(address) ?? []
  const host = bracketed ?? address
  return /(?:^|^::ffff:)(\d+(?:\.\d+){3})(?::\d+)?$/i.exec(host)?.[1] ?? host
}
