import { BlockList, isIP } from 'node:net'

/** What is not on the public internet: https://www.iana.org/assignments/iana-ipv4-special-registry and its IPv6 twin. */
const NOT_PUBLIC = {
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  // Only 2000::/3 is public; within it, what is not, or what leads back to an IPv4 address.
  ipv6: ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
} as const

const blocked = new BlockList()
const publicSix = new BlockList()
for (const family of ['ipv4', 'ipv6'] as const) {
  for (const range of NOT_PUBLIC[family]) {
    const [net, bits] = range.split('/') as [string, string]
    blocked.addSubnet(net, Number(bits), family)
  }
}
publicSix.addSubnet('2000::', 3, 'ipv6')

/** An address inside a network, of this machine, or of nobody. IPv4 inside of IPv6 counts as what it is inside. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return blocked.check(address, 'ipv4')
  if (family !== 6) return true
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return blocked.check(mapped, 'ipv4')
  return !publicSix.check(address, 'ipv6') || blocked.check(address, 'ipv6')
}

/** The host of a URL as an address; undefined if it is a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? undefined : bare
}

/** Names that no public DNS answers for. */
export function isLocalName(hostname: string): boolean {
  return /(^|\.)(localhost|local|internal|home\.arpa)\.?$/i.test(hostname)
}

/** Whether the seller has allowed this URL's host: `host`, for every port, or `host:port`. */
export function isAllowedHost(url: URL, allowed: readonly string[]): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const host = url.hostname.toLowerCase()
  return allowed.some((one) => one.toLowerCase() === host || one.toLowerCase() === `${host}:${port}`)
}
