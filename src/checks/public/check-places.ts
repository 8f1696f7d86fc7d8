import { checkMcp } from '../check-base-url.ts'
import type { Check, Finding } from '../run-checks.ts'
import { isObject, type PublicDocument } from './public-document.ts'

const HTML_ICON = /<link\s[^>]*rel\s*=\s*["'][^"']*icon/i

/** Directories show it beside the name, and look for it at the root of the host. */
export function checkIcon(baseUrl: string): Check {
  const { origin } = new URL(baseUrl)
  const name = 'favicon'
  const fix = 'Serve an image at /favicon.ico at the root of this host.'
  return {
    name,
    asks: origin,
    fix,
    silence: 'warn',
    async run(limitMs) {
      const signal = AbortSignal.timeout(limitMs)
      for (const path of ['/favicon.ico', '/favicon.png', '/favicon.svg']) {
        const { status, headers } = await fetch(origin + path, { method: 'HEAD', signal })
        const type = headers.get('content-type') ?? ''
        if (status === 200 && type.startsWith('image/')) {
          return [{ name, level: 'ok', message: `${path} is an image (${type})` }]
        }
      }
      const page = await fetch(origin, { signal })
      if (HTML_ICON.test(await page.text())) {
        return [{ name, level: 'ok', message: `the page at ${origin} names one` }]
      }
      return [{ name, level: 'warn', message: `there is none at ${origin}`, fix }]
    },
  }
}

/** Directories look for the description at the root of the host, and nowhere else. */
export function checkRoot(baseUrl: string): Check[] {
  const { origin, pathname } = new URL(baseUrl)
  if (pathname === '/') return []
  const name = 'root'
  const asks = `${origin}/openapi.json`
  const fix = `Serve ${pathname}/openapi.json there as well, or give the gateway a host of its own.`
  return [
    {
      name,
      asks,
      fix,
      silence: 'warn',
      async run(limitMs) {
        const response = await fetch(asks, { signal: AbortSignal.timeout(limitMs) })
        await response.body?.cancel()
        const message = `${asks} answers ${response.status}`
        if (response.ok) return [{ name, level: 'ok', message }]
        return [{ name, level: 'warn', message: `${message}: directories look for it there`, fix }]
      },
    },
  ]
}

/** Agents send money to it: nobody may read or change what they are told. */
export function httpsFinding(baseUrl: string): Finding {
  const name = 'https'
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === 'https:') return { name, level: 'ok', message: baseUrl }
  if (/^(localhost|127\..*|\[::1\])$/.test(hostname)) {
    const fix = 'Ask for the address by which buyers reach it.'
    return { name, level: 'warn', message: `${baseUrl} is this machine; no directory reaches it`, fix }
  }
  const fix = 'Put a reverse proxy with a certificate in front, and set BASE_URL to its https address.'
  return { name, level: 'error', message: `${baseUrl} is not https; directories refuse it`, fix }
}

/** A2A and MCP, where the document says that they are there. */
export function checkAgentDoors({ operations }: PublicDocument, baseUrl: string): Check[] {
  const has = (name: string) => operations.some((one) => one.name === name)
  return [
    ...(has('POST /a2a') ? [checkCard(baseUrl)] : []),
    ...(has('POST /mcp') ? [checkMcp(baseUrl, 'MCP')] : []),
  ]
}

function checkCard(baseUrl: string): Check {
  const name = 'agent card'
  const asks = `${baseUrl}/.well-known/agent-card.json`
  const fix = 'Let the reverse proxy pass this path on, and set BASE_URL to the address that buyers use.'
  return {
    name,
    asks,
    fix,
    async run(limitMs) {
      const response = await fetch(asks, { signal: AbortSignal.timeout(limitMs) })
      const card: unknown = await response.json().catch(() => undefined)
      if (!response.ok || !isObject(card) || typeof card.name !== 'string') {
        const message = `${asks} answers ${response.status}, and no agent card`
        return [{ name, level: 'error', message, fix }]
      }
      const { url } = card
      if (typeof url !== 'string' || !url.startsWith(`${baseUrl}/`)) {
        const message = `it sends agents to ${String(url)}, and not to ${baseUrl}`
        return [{ name, level: 'warn', message, fix }]
      }
      return [{ name, level: 'ok', message: `${card.name}, at ${url}` }]
    },
  }
}
