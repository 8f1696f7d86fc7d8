import type { ResolvedConfig } from '../config/resolved-config.ts'
import { askHealth } from './ask-health.ts'
import type { Check, Finding } from './run-checks.ts'

const name = 'BASE_URL'
const FIX = 'Set BASE_URL to where buyers reach this server, or fix DNS or the reverse proxy in front of it.'

/**
 * Do buyers reach this server at its base URL? The version and the wallet of whatever answers there are compared with ours. If
 * nothing answers, the port on this machine shows whether the server is not running or cannot be reached.
 */
export function checkBaseUrl(
  config: ResolvedConfig,
  { port, version }: { port: number; version: string },
): Check {
  const { baseUrl, networks } = config
  const { host, hostname, pathname } = new URL(baseUrl)
  const asks = `the server at ${host}`
  const error = (message: string): Finding[] => [{ name, level: 'error', message, fix: FIX }]
  return {
    name,
    asks,
    fix: FIX,
    async run(limitMs) {
      const health = await askHealth(baseUrl, limitMs / 2)
      if (health.kind === 'foreign') {
        return error(
          `${baseUrl}/health answers HTTP ${health.status}, but not as paystile does: it points elsewhere`,
        )
      }
      if (health.kind === 'silent') {
        const local = await askHealth(`http://127.0.0.1:${port}${pathname.replace(/\/$/, '')}`, limitMs / 2)
        if (local.kind === 'ours')
          return error(`the server runs on port ${port}, but ${host} ${health.reason}`)
        const message = `${host} ${health.reason}: the server does not run, or cannot be reached`
        return [{ name, level: 'warn', message, fix: 'Start it (paystile serve), and ask again.' }]
      }
      if (!health.configured) {
        const message = `${asks} runs, but waits to be configured`
        return [
          {
            name,
            level: 'warn',
            message,
            fix: 'Start it anew with this configuration, or save it at /setup.',
          },
        ]
      }
      const elsewhere = await otherSeller(config, limitMs / 2)
      if (elsewhere) return error(elsewhere)
      if (health.version !== version) {
        const message = `${asks} runs version ${health.version}, and this command is ${version}`
        return [{ name, level: 'warn', message, fix: 'Run the same version of both.' }]
      }
      const lonely = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
      const message = `${asks} answers, version ${version}${lonely ? '; only this machine can reach it' : ''}`
      if (lonely && !networks[0].network.testnet) return [{ name, level: 'warn', message, fix: FIX }]
      return [{ name, level: 'ok', message }]
    },
  }
}

/** Another gateway may have the same version, but not the same wallet. */
async function otherSeller(config: ResolvedConfig, limitMs: number): Promise<string | undefined> {
  const { baseUrl, networks } = config
  const [{ walletAddress }] = networks
  const response = await fetch(`${baseUrl}/discover`, { signal: AbortSignal.timeout(limitMs) })
  const catalog = Object(response.ok ? await response.json() : undefined) as Record<string, unknown>
  const wallet = String(catalog.walletAddress ?? 'no wallet').toLowerCase()
  if (wallet !== walletAddress.toLowerCase()) {
    return `${baseUrl} is another gateway, or runs with another configuration: it asks money for ${wallet} instead of ${walletAddress}`
  }
  const listed = Array.isArray(catalog.networks) ? catalog.networks : [{ network: catalog.network }]
  const sold = [catalog.network, ...listed.map((one) => Object(one).network)].map(String)
  const theirs = [...new Set(sold)].join(', ')
  const ours = networks.map((one) => one.network.id).join(', ')
  return theirs === ours ? undefined : `${baseUrl} sells on ${theirs}, and this configuration says ${ours}`
}

const AGENTS_FIX = 'Let the reverse proxy pass this path on, with POST and streamed answers.'

/** Are the endpoints for agents, where they are switched on, reachable as well? */
export function checkAgents({ baseUrl, a2a, mcp }: ResolvedConfig): Check[] {
  const card = `${baseUrl}/.well-known/agent.json`
  return [
    ...(a2a ? [answering('A2A_ENABLED', card, (signal) => fetch(card, { signal }))] : []),
    ...(mcp ? [checkMcp(baseUrl, 'MCP_ENABLED')] : []),
  ]
}

/** Does the MCP server of this gateway answer? */
export function checkMcp(baseUrl: string, topic: string): Check {
  const url = `${baseUrl}/mcp`
  return answering(topic, url, (signal) => initialize(url, signal))
}

function answering(topic: string, url: string, ask: (signal: AbortSignal) => Promise<Response>): Check {
  return {
    name: topic,
    asks: url,
    fix: AGENTS_FIX,
    async run(limitMs) {
      const response = await ask(AbortSignal.timeout(limitMs))
      await response.body?.cancel()
      const message = `${url} answers HTTP ${response.status}`
      return [
        response.ok
          ? { name: topic, level: 'ok', message }
          : { name: topic, level: 'error', message, fix: AGENTS_FIX },
      ]
    },
  }
}

function initialize(url: string, signal: AbortSignal): Promise<Response> {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'paystile doctor', version: '1' },
  }
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    signal,
  })
}
