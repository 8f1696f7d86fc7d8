import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readRoutes } from '../config/check-catalog.ts'
import { checkPaths } from '../config/check-paths.ts'
import { createOptionReader } from '../config/option-reader.ts'
import type { Route } from '../protocol/catalog.ts'
import { chooseServer } from './choose-server.ts'
import { type ImportChoices, planImport } from './plan-import.ts'
import { readDescription } from './read-description.ts'
import { routeMatcher } from './route-matcher.ts'

const load = (name: string, url?: string) =>
  readDescription(readFileSync(new URL(`../../test/fixtures/openapi/${name}`, import.meta.url), 'utf8'), {
    name,
    url,
  })
const CENT = { unitAmount: '$0.01' }
const files = new Map(
  await Promise.all(
    ['pet-store.yaml', 'pet-store.json', 'forge.yaml'].map(async (name) => [name, await load(name)] as const),
  ),
)
const plan = (name: string, choices: Partial<ImportChoices> = {}) => {
  const description = files.get(name)!
  const server = chooseServer(description)
  return planImport(description, {
    existing: [],
    priceForAll: CENT,
    server: 'fault' in server ? undefined : server.baseUrl,
    ...choices,
  })
}
const routesOf = ({ imported }: ReturnType<typeof plan>) => imported.map(({ route }) => route as Route)

/** What the server itself says of such a list. */
function faultsOf(routes: readonly Route[]): string[] {
  const reader = createOptionReader({ walletAddress: '', routes: JSON.parse(JSON.stringify(routes)) }, {})
  checkPaths(reader, readRoutes(reader), { answersRoutes: true, guarded: undefined })
  return reader.faults
}

describe.each(['pet-store.yaml', 'pet-store.json'])('%s', (file) => {
  const planned = plan(file)
  const byId = new Map(routesOf(planned).map((route) => [route.routeId, route]))

  test('becomes routes with prices that the server takes', () => {
    expect(routesOf(planned).map(({ method, path, unitAmount }) => [method, path, unitAmount])).toEqual([
      ['PUT', '/pet', '$0.01'],
      ['POST', '/pet', '$0.01'],
      ['GET', '/pet/:petId', '$0.01'],
      ['DELETE', '/pet/:petId', '$0.01'],
      ['POST', '/pet/:petId/uploadImage', '$0.01'],
      ['GET', '/store/inventory', undefined],
      ['POST', '/store/order', '$0.05'],
    ])
    expect(byId.get('getInventory')).toMatchObject({ free: true })
    expect(faultsOf(routesOf(planned))).toEqual([])
    expect(byId.get('deletePet')?.description).toBe('Deletes a pet. It is gone then.')
    expect(planned.notes).toEqual([expect.stringContaining('api_key')])
  })

  test('says what is left out, and why', () => {
    expect(planned.notImported).toEqual([
      { method: 'GET', path: '/user/login', reason: 'needs the cookie "session", which buyers do not have' },
      {
        method: 'GET',
        path: '/pet/findByStatus',
        reason:
          'is matched by /pet/:petId too, and one path has one price: its calls are sold as route getPetById, for $0.01',
      },
    ])
  })

  test('tells what calls take and answer, without references', () => {
    const { inputSchema, outputSchema } = byId.get('updatePet')!
    expect(JSON.stringify({ inputSchema, outputSchema })).not.toContain('$ref')
    expect(inputSchema).toMatchObject({
      required: ['body'],
      properties: { body: { required: ['name', 'photoUrls'], properties: { id: { exclusiveMinimum: 0 } } } },
    })
    expect(outputSchema).toMatchObject({
      properties: {
        category: { properties: { name: { type: ['string', 'null'] }, parent: { type: 'object' } } },
      },
    })
    expect(JSON.stringify(outputSchema)).not.toContain('example')
    expect(byId.get('getPetById')!.inputSchema).toMatchObject({
      properties: { path: { properties: { petId: { type: 'integer', description: 'ID of the pet' } } } },
    })
    expect(byId.get('uploadFile')!.inputSchema).toMatchObject({
      properties: { body: { contentMediaType: 'application/octet-stream' } },
    })
  })
})

describe('forty operations, 3.1, by reference', () => {
  const planned = plan('forge.yaml')
  const routes = routesOf(planned)

  test('all that can be sold is imported', () => {
    expect(routes).toHaveLength(36)
    expect(faultsOf(routes)).toEqual([])
    const byId = new Map(routes.map((route) => [route.routeId, route]))
    expect(byId.get('repos-get')).toMatchObject({ method: 'GET', path: '/repos/:owner/:repo', ...CENT })
    expect(byId.get('issues-create')).toMatchObject({ unitAmount: '$0.02' })
    expect(byId.get('search-code')).toMatchObject({ unitAmount: '$0.03' })
    expect(byId.get('licenses-list')).toMatchObject({ path: '/licenses' })
    expect(byId.get('meta-zen')).toMatchObject({ free: true })
    expect(byId.get('markdown-render')).toMatchObject({
      inputSchema: { properties: { body: { contentMediaType: 'text/x-markdown' } } },
    })
    expect(JSON.stringify(routes)).not.toContain('$ref')
  })

  test('what cannot be is named with its reason', () => {
    const reasons = planned.notImported.map(({ method, path, reason }) => `${method} ${path} ${reason}`)
    expect(reasons).toEqual([
      'GET /repos/{owner}/{repo}/compare/{base}...{head} has the segment "{base}...{head}"; a parameter of a route is a whole segment',
      expect.stringMatching(/^GET \/health is taken: the gateway itself answers below \/health/),
      'POST /uploads is on a server of its own (https://uploads.forge.example); all routes have one backend',
      'TRACE /gists/{gist_id} is no method that can be sold (GET, POST, PUT, PATCH, DELETE)',
      'HEAD /gists/{gist_id} has no answer to sell',
      expect.stringMatching(/^\* \/elsewhere refers to another document/),
      'GET /search/issues x-payment-info has a price that varies; give one price for it',
    ])
  })

  test('a price for one, for some, free ones and ones that are left out', () => {
    const prices = [
      { matches: routeMatcher('/search/*', '--price'), price: { unitAmount: '$0.50' } },
      { matches: routeMatcher('get /users/{x}', '--free'), price: { free: true as const } },
    ]
    const chosen = plan('forge.yaml', { prices, skip: [routeMatcher('/repos/*', '--skip')] })
    const byPath = new Map(routesOf(chosen).map((route) => [route.path, route]))
    expect(byPath.get('/search/issues')).toMatchObject({ unitAmount: '$0.50' })
    expect(byPath.get('/users/:username')).toMatchObject({ free: true })
    expect(byPath.get('/users/:username/repos')).toMatchObject(CENT)
    expect([...byPath.keys()].filter((path) => path.startsWith('/repos'))).toEqual([])
  })

  test('the first server is the backend, its variables filled in', async () => {
    const description = files.get('forge.yaml')!
    expect(chooseServer(description)).toMatchObject({
      baseUrl: 'https://eu.forge.example/v1',
      note: expect.stringContaining('2 https://us.forge.example/v1'),
    })
    expect(chooseServer(description, '2')).toEqual({ baseUrl: 'https://us.forge.example/v1' })
    expect(chooseServer(description, '3')).toEqual({ fault: expect.stringContaining('--server 3') })
    expect(chooseServer(description, 'http://10.0.0.1:8080/')).toEqual({ baseUrl: 'http://10.0.0.1:8080' })
    expect(chooseServer(description, 'http://me:pw@10.0.0.1')).toEqual({
      fault: expect.stringContaining('user name or password'),
    })
    const relative = await load('pet-store.yaml', 'https://petstore.example/docs/openapi.yaml')
    expect(chooseServer(relative)).toEqual({ baseUrl: 'https://petstore.example/api/v3' })
    expect(chooseServer(files.get('pet-store.yaml')!)).toEqual({
      fault: expect.stringContaining('--server URL'),
    })
  })
})

describe('importing again', () => {
  const first = routesOf(plan('pet-store.yaml'))

  test('changes nothing when nothing differs', () => {
    const again = plan('pet-store.yaml', { existing: first, priceForAll: undefined })
    expect(new Set(again.imported.map(({ kind }) => kind))).toEqual(new Set(['same']))
    expect(routesOf(again)).toEqual(first)
  })

  test('keeps what the seller has set, and tells what differs', () => {
    const own: Route = { routeId: 'mine', method: 'GET', path: '/mine', unitAmount: '$1.00' }
    const existing = first
      .filter(({ routeId }) => routeId !== 'addPet')
      .map((route): Route => {
        if (route.routeId === 'placeOrder') return { ...route, unitAmount: '$9', raw: true, credits: 3 }
        if (route.routeId === 'getPetById')
          return { ...route, routeId: 'pet', path: '/pet/:id', description: 'Old' }
        return route
      })
    const again = plan('pet-store.yaml', { existing: [...existing, own] })
    const of = (id: string) => again.imported.find(({ route }) => route.routeId === id)!
    expect(of('addPet').kind).toBe('added')
    expect(of('placeOrder')).toMatchObject({
      kind: 'same',
      route: { unitAmount: '$9', raw: true, credits: 3 },
      note: '$9 stays; the description says $0.05',
    })
    expect(of('pet').changes).toEqual(['path /pet/:id → /pet/:petId', 'description'])
    expect(again.others).toEqual([own])
    const taken = plan('pet-store.yaml', { existing, takePrices: true })
    expect(taken.imported.find(({ route }) => route.routeId === 'placeOrder')!.changes).toEqual([
      'price $9 → $0.05',
    ])
  })

  test('a route of the seller is never pushed out', () => {
    const own: Route = { routeId: 'any', method: 'POST', path: '/store/:what', unitAmount: '$0.01' }
    const again = plan('pet-store.yaml', { existing: [own] })
    expect(again.notImported).toContainEqual({
      method: 'POST',
      path: '/store/order',
      reason: 'overlaps your route any (/store/:what)',
    })
  })
})

describe('small ones', () => {
  const of = async (paths: object, choices: Partial<ImportChoices> = {}) =>
    planImport(await readDescription(JSON.stringify({ openapi: '3.0.0', paths }), { name: 'api.json' }), {
      existing: [],
      priceForAll: CENT,
      ...choices,
    })

  test('ids are valid and unique', async () => {
    const planned = await of({
      '/a': { get: { operationId: 'read it!' }, post: { operationId: 'read it!' }, put: {} },
      '/a/{b-c}': { get: { operationId: 'put-a' } },
      '/': { get: { operationId: '..' } },
      '/a/b/{2}': { get: {} },
    })
    expect(planned.imported.map(({ route: { routeId, path } }) => [routeId, path])).toEqual([
      ['read-it', '/a'],
      ['post-a', '/a'],
      ['put-a', '/a'],
      ['get-a-b_c', '/a/:b_c'],
      ['get', '/'],
      ['get-a-b-_2', '/a/b/:_2'],
    ])
    expect(faultsOf(routesOf(planned))).toEqual([])
  })

  test('of two that overlap the dearer stays, and never one that makes the other cheaper', async () => {
    const planned = await of({ '/p/{id}': { get: { 'x-price': 0 } }, '/p/all': { get: { 'x-price': '$2' } } })
    expect(planned.imported.map(({ route }) => route.path)).toEqual(['/p/all'])
    expect(planned.notImported[0]!.reason).toContain('overlaps /p/all')
  })

  test.each([
    ['1 EUR', 'x-price is "1 EUR"'],
    [-1, 'must not carry a sign'],
    [1e-9, 'x-price is "1e-9"'],
    [{ amount: 1 }, 'must be a price such as'],
  ])('the price %j is a reason', async (price, reason) => {
    const planned = await of({ '/a': { get: { 'x-price': price } } })
    expect(planned.notImported[0]!.reason).toContain(reason)
  })

  test('odd members harm nothing', async () => {
    const planned = await of(
      JSON.parse(
        '{"/a":{"get":{"parameters":[null,{"$ref":"#/nowhere"},{"name":"__proto__","in":"query","schema":{"$ref":"#/paths/~1a"}}],"responses":[],"requestBody":7}},"/b":null,"/c":{"$ref":"#/paths/~1d"},"/d":{"$ref":"#/paths/~1c"},"/e":{"get":3},"a":{"get":{}},"/f{x}":{"get":{}},"/g/":{"get":{}},"/{h}":{"get":{}},"x-note":1}',
      ),
    )
    expect(planned.imported.map(({ route }) => route.path)).toEqual(['/a'])
    expect(planned.notImported.map(({ path }) => path)).toEqual([
      '/b',
      '/c',
      '/d',
      '/e',
      'a',
      '/f{x}',
      '/g/',
      '/{h}',
    ])
  })

  test.each([
    ['a parameter', { parameters: [{ $ref: 'other.yaml#/x' }] }, 'other.yaml#/x'],
    ['its schema', { parameters: [{ name: 'q', in: 'query', schema: { $ref: 'q.json' } }] }, 'q.json'],
    [
      'a parameter behind a reference',
      { parameters: [{ $ref: '#/components/parameters/far' }] },
      './far.yaml',
    ],
    ['the body', { requestBody: { $ref: 'body.yaml' } }, 'body.yaml'],
    ['the answer', { responses: { 200: { $ref: 'https://x.example/a#/b' } } }, 'https://x.example/a#/b'],
    [
      'a part of the answer',
      {
        responses: { 200: { content: { 'application/json': { schema: { items: { $ref: 'pet.yaml' } } } } } },
      },
      'pet.yaml',
    ],
  ])('%s in another file is a reason, and a route that is there stays', async (_what, operation, ref) => {
    const paths = { '/a': { get: operation }, '/b': { get: { responses: { 404: { $ref: 'faults.yaml' } } } } }
    const parameters = { far: { $ref: './far.yaml' } }
    const text = JSON.stringify({ openapi: '3.1.0', paths, components: { parameters } })
    const description = await readDescription(text, { name: 'api.json' })
    const there: Route = { routeId: 'mine', method: 'GET', path: '/a', unitAmount: '$0.05' }
    const planned = planImport(description, { existing: [there], priceForAll: CENT })
    const reason = `refers to another document (${ref}); put all into one file first`
    expect(planned.notImported).toEqual([{ method: 'GET', path: '/a', reason }])
    expect(planned.others, 'it is in the description, so that --prune leaves it').toEqual([])
    expect(planned.imported.map(({ route }) => route.path)).toEqual(['/b'])
  })

  test('references that multiply are cut, not unfolded', async () => {
    const schemas: Record<string, object> = {}
    for (let level = 0; level < 30; level++) {
      const next = { $ref: `#/components/schemas/L${level + 1}` }
      schemas[`L${level}`] = { type: 'object', properties: { a: next, b: next, c: next, d: next } }
    }
    const document = {
      openapi: '3.1.0',
      paths: {
        '/a': {
          post: {
            requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/L0' } } } },
          },
        },
      },
      components: { schemas },
    }
    const [only] = planImport(await readDescription(JSON.stringify(document), { name: 'api.json' }), {
      existing: [],
      priceForAll: CENT,
    }).imported
    expect(JSON.stringify(only!.route.inputSchema).length).toBeLessThanOrEqual(8192)
    expect(only!.route.inputSchema).toMatchObject({ properties: { body: { type: 'object' } } })
  })
})

test('a metered route keeps its maximum and its charge when its description is read again, until it gets a price', () => {
  const metered: Route = {
    ...{ routeId: 'updatePet', method: 'PUT', path: '/pet', scheme: 'upto', maxAmount: '$0.02', raw: true },
    charge: { per: '/usage/total_tokens', unitAmount: '$0.000002' },
    chargeIfUnstated: 'nothing',
    stream: { maxUnpaidPerPayer: '$0.10', maxUnpaid: '$5.00' },
  }
  const again = plan('pet-store.yaml', { existing: [metered] })
  const kept = routesOf(again).find(({ routeId }) => routeId === 'updatePet')
  expect(kept).toMatchObject(metered)
  expect(faultsOf(routesOf(again))).toEqual([])

  const priced = plan('pet-store.yaml', {
    existing: [metered],
    prices: [{ matches: routeMatcher('PUT /pet', '--price'), price: CENT }],
  })
  const fixed = routesOf(priced).find(({ routeId }) => routeId === 'updatePet')
  expect(fixed).toMatchObject({ unitAmount: '$0.01', raw: true })
  expect(faultsOf(routesOf(priced))).toEqual([])
  expect(priced.imported[0]?.changes[0]).toBe('price metered, at most $0.02 → $0.01')
})
