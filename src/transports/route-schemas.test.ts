import { expect, test } from 'vitest'
import type { DiscoveryCatalog, Route } from '../protocol/catalog.ts'
import { NETWORKS } from '../protocol/networks.ts'
import { buildCatalog } from '../rules/catalog.ts'
import { routeTools } from './mcp/route-tool.ts'
import type { Offer } from './onboarding/offer.ts'
import { routePaths } from './onboarding/openapi-routes.ts'
import { schemasOf } from './route-schemas.ts'

const body = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
const query = { type: 'object', properties: { limit: { type: 'integer' } }, required: ['limit'] }
const outputSchema = { type: 'object', properties: { id: { type: 'integer' } } }
const routes: Route[] = [
  {
    routeId: 'add',
    method: 'POST',
    path: '/pets',
    unitAmount: '$0.01',
    inputSchema: { type: 'object', properties: { query, body }, required: ['query', 'body'] },
    outputSchema,
  },
  {
    routeId: 'picture',
    method: 'PUT',
    path: '/pets/:id/picture',
    unitAmount: '$0.01',
    raw: true,
    inputSchema: { properties: { body: { contentMediaType: 'image/png' }, headers: 7 } },
    outputSchema: { type: 'string', contentMediaType: 'text/plain' },
  },
  { routeId: 'plain', method: 'GET', path: '/plain', unitAmount: '$0.01' },
]
const schemas = schemasOf(routes)
const discovery = { plans: [], routes } as unknown as DiscoveryCatalog

test('openapi.json says what a call takes and answers', () => {
  const offer = {
    discovery,
    baseUrl: 'https://a.example',
    networks: [NETWORKS[0]!],
    servesRoutes: true,
    schemas,
  }
  const paths = routePaths(offer as unknown as Offer)
  expect(paths['/pets']!.post).toMatchObject({
    parameters: [
      { $ref: '#/components/parameters/IdempotencyKey' },
      { name: 'limit', in: 'query', required: true, schema: { type: 'integer' } },
    ],
    requestBody: { required: true, content: { 'application/json': { schema: body } } },
    responses: {
      '200': {
        content: {
          'application/json': {
            schema: {
              allOf: [
                { $ref: '#/components/schemas/ResourceResponse' },
                { properties: { resource: { properties: { body: outputSchema } } } },
              ],
            },
          },
        },
      },
    },
  })
  expect(paths['/pets/{id}/picture']!.put).toMatchObject({
    requestBody: { content: { 'image/png': {} } },
    responses: { '200': { content: { 'text/plain': { schema: { type: 'string' } } } } },
  })
  expect(paths['/plain']!.get).not.toHaveProperty('requestBody')
})

test('so do the tools of MCP', () => {
  const [add, , plain] = routeTools(buildCatalog([], routes), discovery, [NETWORKS[0]!], schemas)
  expect(add!.listing.inputSchema).toMatchObject({ properties: { query, body }, required: ['query', 'body'] })
  expect(plain!.listing.inputSchema).not.toHaveProperty('required')
})
