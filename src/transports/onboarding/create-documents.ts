import type { Mount } from '../http/endpoint.ts'
import { CORS_HEADERS } from '../http/headers.ts'
import type { Reply } from '../http/reply.ts'
import { ICON, iconPaths } from './icon.ts'
import { llmsTxt } from './llms-txt.ts'
import type { Offer } from './offer.ts'
import { openApi } from './openapi.ts'
import { robotsTxt } from './robots-txt.ts'
import { skillsMd } from './skills-md.ts'
import { x402Manifest } from './x402-manifest.ts'

const MARKDOWN = 'text/markdown; charset=utf-8'
const PLAIN = 'text/plain; charset=utf-8'
const SVG = 'image/svg+xml'
const JSON_TYPE = 'application/json'

/** What is null is switched off. */
export interface DocumentConfig
  extends Pick<
    Offer,
    'baseUrl' | 'networks' | 'resourceEndpoint' | 'agentVersion' | 'provider' | 'contactEmail'
  > {
  a2a: object | null
  mcp: object | null
}

/** Everything that an agent reads to find and pay us: made of the catalog and serialised here, once. */
export function createDocuments(
  { baseUrl, networks, resourceEndpoint, agentVersion, provider, contactEmail, a2a, mcp }: DocumentConfig,
  catalog: Pick<Offer, 'discovery' | 'servesRoutes' | 'jwks' | 'schemas'>,
): Mount {
  const offer: Offer = {
    ...catalog,
    baseUrl,
    networks,
    resourceEndpoint,
    agentVersion,
    provider,
    contactEmail,
    a2a: a2a !== null,
    mcp: mcp !== null,
  }
  const manifest = JSON.stringify(x402Manifest(offer))
  const documents: Record<string, [type: string, body: string]> = {
    '/llms.txt': [PLAIN, llmsTxt(offer)],
    '/skills.md': [MARKDOWN, skillsMd(offer)],
    '/openapi.json': [JSON_TYPE, JSON.stringify(openApi(offer))],
    '/.well-known/x402': [JSON_TYPE, manifest],
    '/.well-known/x402.json': [JSON_TYPE, manifest],
  }
  const endpoint = ([type, body]: [string, string]) => {
    const headers = { ...CORS_HEADERS, 'content-type': type, 'cache-control': 'public, max-age=60' }
    const reply: Reply = { status: 200, headers, body }
    return { GET: () => reply }
  }
  return ({ basePath }) => {
    const paths = ['/discover', ...Object.keys(documents), ...wellKnown(offer)]
    // Crawlers look for these at the root of a host only; below a base path the root is somebody else's.
    const ofHost: typeof documents =
      basePath === ''
        ? {
            '/robots.txt': [PLAIN, robotsTxt(paths)],
            ...Object.fromEntries(iconPaths(catalog.discovery).map((path) => [path, [SVG, ICON]])),
          }
        : {}
    return Object.fromEntries(
      Object.entries({ ...documents, ...ofHost }).map(([path, document]) => [path, endpoint(document)]),
    )
  }
}

function wellKnown({ a2a, mcp, jwks }: Offer): string[] {
  return [
    ...(a2a ? ['/.well-known/agent.json', '/.well-known/agent-card.json'] : []),
    ...(mcp ? ['/.well-known/mcp.json', '/.well-known/mcp/server-card.json'] : []),
    ...(jwks ? ['/.well-known/jwks.json'] : []),
  ]
}
