import {
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server'
import { GatewayError } from '../../errors.ts'

/**
 * Makes the check against DNS rebinding: a page whose name was pointed at this server still sends its own name. Ports
 * are not compared (containers map them), and the names of this very machine are one.
 */
export function createCallerCheck(config: {
  baseUrl: string
  trustProxy: boolean
}): (headers: Headers) => GatewayError | undefined {
  const { hostname } = new URL(config.baseUrl)
  const local = localhostAllowedHostnames()
  const allowed = local.includes(hostname) ? local : [hostname]

  return (headers) => {
    const forwarded = config.trustProxy ? headers.get('x-forwarded-host')?.split(',')[0]?.trim() : undefined
    const host = forwarded ?? headers.get('host')
    // HTTP/2 has none, and a browser speaks that only to a server with a certificate for the name.
    if (host !== null && !validateHostHeader(host, allowed).ok) {
      return refuse(
        'Host',
        host,
        hostname,
        `reach it as ${config.baseUrl}/mcp; a proxy in front must pass Host on`,
      )
    }
    const origin = headers.get('origin')
    if (validateOriginHeader(origin, allowed).ok) return undefined
    return refuse('Origin', origin ?? '', hostname, 'call it from a program, or from a page of the same host')
  }
}

function refuse(header: string, found: string, expected: string, hint: string): GatewayError {
  const message = `${header} is ${JSON.stringify(found.slice(0, 200))}; this MCP server is ${expected}.`
  return new GatewayError('INVALID_REQUEST', message, { hint })
}
