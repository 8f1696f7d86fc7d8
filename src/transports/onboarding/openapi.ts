import { isMetered } from '../../protocol/schemes-sold.ts'
import { granted } from './credit-words.ts'
import { guidance } from './guidance.ts'
import { iconPaths } from './icon.ts'
import { type Offer, paidRoutes } from './offer.ts'
import { creditPaths, creditSchemas } from './openapi-credits.ts'
import {
  failureResponses,
  failures,
  json,
  OPEN,
  type Operation,
  type Paths,
  paidFailures,
  paymentInfo,
  RECEIPT,
  schemaRef,
  securitySchemes,
} from './openapi-operations.ts'
import { resourcePath, routePaths } from './openapi-routes.ts'
import { openApiSchemas } from './openapi-schemas.ts'

/** `/openapi.json`: every endpoint and every route, with prices. */
export function openApi(offer: Offer): object {
  const { discovery, baseUrl, provider, contactEmail, agentVersion } = offer
  return {
    openapi: '3.1.0',
    info: {
      title: discovery.agentName,
      version: agentVersion,
      description: discovery.description,
      contact: {
        ...(provider && { name: provider.organization }),
        ...(contactEmail !== null && { email: contactEmail }),
        url: provider?.url ?? baseUrl,
      },
      'x-guidance': guidance(offer),
    },
    servers: [{ url: baseUrl }],
    'x-agentcash-guidance': { llmsTxtUrl: `${baseUrl}/llms.txt` },
    externalDocs: { description: 'How to buy, with code', url: `${baseUrl}/skills.md` },
    paths: {
      ...routePaths(offer),
      ...(discovery.plans.length > 0 && resourcePath(offer)),
      ...ownPaths(offer),
      ...creditPaths(offer),
    },
    components: {
      schemas: { ...openApiSchemas(offer), ...creditSchemas(offer) },
      responses: failureResponses(offer),
      parameters: {
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          description: 'the requestId: new for every purchase, the same for every retry',
          schema: { type: 'string', maxLength: 128 },
        },
      },
      securitySchemes: securitySchemes(offer),
    },
  }
}

function ownPaths(offer: Offer): Paths {
  const anyJson = { type: 'object' }
  const paths: Paths = {
    '/discover': {
      get: read('discover', 'Plans, routes and prices', json('the catalog', schemaRef('Catalog'))),
    },
    ...(sellsOnAccess(offer) && { '/x402/access': { post: access(offer) } }),
    '/x402/challenges/{challengeId}': {
      get: {
        ...read('status', 'How a purchase stands', json('its state', schemaRef('ChallengeStatus'))),
        parameters: [{ name: 'challengeId', in: 'path', required: true, schema: { type: 'string' } }],
      },
    },
    '/receipts/{challengeId}': {
      get: {
        ...read('receipt', 'The receipt of a purchase, for people', textual('text/html')),
        parameters: [{ name: 'challengeId', in: 'path', required: true, schema: { type: 'string' } }],
      },
    },
    '/.well-known/did.json': {
      get: read('did', 'Keys that verify receipts', json('a DID document', anyJson)),
    },
    '/health': { get: read('health', 'Liveness', json('alive', anyJson)) },
    '/ready': {
      get: {
        ...read('ready', 'Readiness', json('ready', anyJson)),
        responses: { '200': json('ready', anyJson), '503': json('not ready', anyJson), ...failures(429) },
      },
    },
    '/llms.txt': { get: read('llms', 'Overview for language models', textual('text/plain')) },
    '/skills.md': { get: read('skills', 'How to buy, as an Agent Skill', textual('text/markdown')) },
    '/openapi.json': { get: read('openapi', 'This document', json('OpenAPI 3.1', anyJson)) },
    '/.well-known/x402': { get: read('x402', 'Everything that answers 402', json('the list', anyJson)) },
    '/.well-known/x402.json': { get: read('x402Json', 'The same', json('the list', anyJson)) },
  }
  // As in create-documents.ts: a host has one, at its root.
  if (new URL(offer.baseUrl).pathname === '/') {
    paths['/robots.txt'] = { get: read('robots', 'What crawlers may read', textual('text/plain')) }
    for (const path of iconPaths(offer.discovery)) {
      paths[path] = { get: read(path.slice(1), 'Icon', textual('image/svg+xml')) }
    }
  }
  // did:web looks for the document of an address with a path below that path.
  if (new URL(offer.baseUrl).pathname !== '/') {
    paths['/did.json'] = { get: read('didOfPath', 'The same', json('a DID document', anyJson)) }
  }
  if (offer.jwks) {
    paths['/.well-known/jwks.json'] = { get: read('jwks', 'Keys that verify tokens', json('JWKS', anyJson)) }
  }
  if (offer.a2a) {
    const card = json('the agent card', anyJson)
    paths['/.well-known/agent-card.json'] = { get: read('agentCard', 'A2A agent card', card) }
    paths['/.well-known/agent.json'] = { get: read('agentCard03', 'The same', card) }
    paths['/a2a'] = { post: rpc('a2a', 'A2A: JSON-RPC 2.0') }
  }
  if (offer.mcp) {
    const card = json('name and transport', anyJson)
    paths['/.well-known/mcp.json'] = { get: read('mcpServer', 'MCP server', card) }
    paths['/.well-known/mcp/server-card.json'] = { get: read('mcpServerCard', 'MCP server card', card) }
    paths['/mcp'] = { post: rpc('mcp', 'MCP: JSON-RPC 2.0 over Streamable HTTP') }
  }
  return paths
}

/** Calls that the seller's own server answers are bought where they are made. */
const routesOnAccess = (offer: Offer) => (offer.servesRoutes ? paidRoutes(offer) : [])

const sellsOnAccess = (offer: Offer): boolean =>
  offer.discovery.plans.length + routesOnAccess(offer).length > 0

function access(offer: Offer): Operation {
  const { plans } = offer.discovery
  const routes = routesOnAccess(offer)
  const prices = plans.map(({ unitAmount }) => unitAmount)
  const requestId = 'a-new-uuid-for-every-purchase'
  const examples = Object.fromEntries([
    ...plans.map(({ planId, unitAmount, credits, description = planId }) => [
      `plan.${planId}`,
      { summary: `${unitAmount}${granted(credits)}: ${description}`, value: { planId, requestId } },
    ]),
    ...routes.map(({ routeId, method, path, price, description = routeId }) => [
      `route.${routeId}`,
      { summary: `${price}: ${description}`, value: { routeId, requestId, resource: { method, path } } },
    ]),
  ])
  const results = [
    ...(plans.length > 0 ? ['AccessGrant'] : []),
    ...(routes.length > 0 ? ['ResourceResponse'] : []),
  ].map(schemaRef)
  return {
    operationId: 'access',
    summary: 'Buy a plan, or a call of a route',
    description: `Without a payment: 402 with the terms${plans.length > 0 ? '; without a body those of the cheapest plan' : ''}. With it: settles, and answers what was bought. The same payment sent again brings the same answer and is not charged.`,
    security: OPEN,
    parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }],
    // Without plans an empty request finds no terms here. Each route is listed with its own price.
    ...(prices.length > 0 && paymentInfo(prices, offer.networks)),
    requestBody: {
      content: {
        'application/json': {
          schema: schemaRef('AccessRequest'),
          ...(Object.keys(examples).length > 0 && { examples }),
        },
      },
    },
    responses: {
      '200': json('what was bought', results.length > 1 ? { oneOf: results } : results[0]!, RECEIPT),
      ...paidFailures(),
      ...(routes.some(isMetered) && failures(412)),
    },
  }
}

function read(operationId: string, summary: string, answer: object): Operation {
  return { operationId, summary, security: OPEN, responses: { '200': answer, ...failures(404, 429) } }
}

function rpc(operationId: string, summary: string): Operation {
  const schema = { type: 'object' }
  return {
    operationId,
    summary,
    security: OPEN,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: { '200': json('a JSON-RPC answer', schema), ...failures(400, 413, 429) },
  }
}

function textual(type: string): object {
  return { description: 'the document', content: { [type]: { schema: { type: 'string' } } } }
}
