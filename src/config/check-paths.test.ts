import { describe, expect, test } from 'vitest'
import type { GatewayOptions } from './options.ts'
import { checkConfig } from './resolve-config.ts'

const good: GatewayOptions = {
  walletAddress: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'correct-horse-battery-staple-0123456789',
}
const proxyTo = { baseUrl: 'http://backend:8080' }
const route = (path: string, more: object = {}) => ({
  routeId: 'r',
  method: 'GET' as const,
  path,
  unitAmount: '$0.01',
  ...more,
})
const faultsOf = (options: Partial<GatewayOptions>) => {
  const { faults, missing } = checkConfig({ ...good, ...options })
  return [...faults, ...missing]
}

describe('paths of routes', () => {
  test.each(['/weather/:city', '/', '/api/discover', '/v1/:a/x/:b', '/Discover'])(
    '%s may be sold',
    (path) => {
      expect(faultsOf({ proxyTo, routes: [route(path)] })).toEqual([])
    },
  )

  test.each([
    ['/a//b', 'routes: path "/a//b" of route "r" must not have empty segments'],
    ['/a/../b', 'must not have "." or ".."'],
    ['/a/:x/:x', 'names :x twice'],
    ['/a/*', 'has the segment "*"'],
    ['/a/f-:x', 'has the segment "f-:x"'],
    ['/a?b', 'has the segment "a?b"'],
  ])('%s is refused', (path, fault) => {
    expect(faultsOf({ proxyTo, routes: [route(path)] })).toEqual([expect.stringContaining(fault)])
  })

  test.each([
    '/discover',
    '/x402/access',
    '/x402/:anything/else',
    '/health',
    '/ready',
    '/.well-known/agent.json',
    '/mcp',
    '/a2a',
    '/setup',
    '/admin/x',
    '/metrics',
    '/llms.txt',
    '/skills.md',
    '/openapi.json',
    '/robots.txt',
  ])('%s is the gateway’s own', (path) => {
    const line = [expect.stringMatching(/^routes: path .* of route "r" is taken: the gateway itself/)]
    expect(faultsOf({ proxyTo, routes: [route(path)] })).toEqual(line)
    expect(faultsOf({ routes: [route(path)] }), 'embedded as well').toEqual(line)
  })

  test('a path must not begin with a parameter if the gateway answers calls itself: it could mean an endpoint', () => {
    const routes = [route('/:city')]
    expect(faultsOf({ proxyTo, routes })).toEqual([expect.stringContaining('starts with a parameter')])
    expect(faultsOf({ routes })).toEqual([])
  })

  test.each([
    ['/x/:id', '/x/all'],
    ['/x/:id', '/x/:name'],
    ['/:a/y', '/x/:b'],
  ])('%s and %s of one method overlap, and both are named', (one, other) => {
    const routes = [route(one), route(other, { routeId: 's' })]
    expect(faultsOf({ routes })).toEqual([
      `routes: route "r" (GET ${one}) and route "s" (GET ${other}) overlap: one path would have two prices. Change one of them.`,
    ])
    expect(faultsOf({ routes: [routes[0]!, { ...routes[1]!, method: 'POST' }] })).toEqual([])
  })

  test.each(['HEAD', 'OPTIONS'] as const)('a %s route is refused: it has no answer to sell', (method) => {
    expect(faultsOf({ routes: [route('/x', { method })] })).toEqual([
      `routes: ${method} of route "r" has no answer to sell; use GET.`,
    ])
  })
})

describe('the guarded resource', () => {
  const guardedPath = (options: Partial<GatewayOptions>) =>
    checkConfig({ ...good, proxyTo, ...options }).config?.guardedPath

  test('is guarded where the gateway signs tokens, forwards, and is what the endpoint names', () => {
    expect(guardedPath({})).toBe('/resource/{resourceId}')
    expect(guardedPath({ baseUrl: 'https://x.example/pay' })).toBe('/resource/{resourceId}')
    const baseUrl = 'https://x.example'
    expect(guardedPath({ baseUrl, resourceEndpoint: 'https://x.example:443/v1?id={resourceId}' })).toBe('/v1')
    expect(guardedPath({ baseUrl, resourceEndpoint: 'https://api.example/{resourceId}' })).toBe(null)
    expect(guardedPath({ proxyTo: undefined })).toBe(null)
    const issueTokenApi = 'https://x.example/issue'
    expect(guardedPath({ tokenSecret: undefined, issueTokenApi })).toBe(null)
    expect(guardedPath({ plans: [], routes: [route('/x')], tokenSecret: undefined })).toBe(null)
  })

  test('shares no path with a route, whatever its method', () => {
    for (const method of ['GET', 'POST'] as const) {
      expect(faultsOf({ proxyTo, routes: [route('/resource/:id', { method })] })).toEqual([
        `resourceEndpoint (/resource/{resourceId}) and route "r" (${method} /resource/:id) overlap: a plan's token would open what is sold per call. Change one of them.`,
      ])
    }
    expect(faultsOf({ proxyTo, routes: [route('/resource/:id/x')] })).toEqual([])
    expect(faultsOf({ routes: [route('/resource/:id')] }), 'not guarded').toEqual([])
  })

  test('cannot be an endpoint of the gateway', () => {
    const options = { proxyTo, baseUrl: 'https://x.example' }
    const endpoint = (path: string) => faultsOf({ ...options, resourceEndpoint: `https://x.example${path}` })
    expect(endpoint('/{resourceId}')).toEqual([expect.stringContaining('starts with a parameter')])
    expect(endpoint('/x402/{resourceId}')).toEqual([expect.stringContaining('is taken')])
  })

  test('must have a path that can be called', () => {
    const options = { proxyTo, baseUrl: 'https://x.example' }
    for (const path of ['/a/..;/{resourceId}', '/straße/{resourceId}', '/a/%252e/{resourceId}']) {
      const resourceEndpoint = `https://x.example${path}`
      expect(faultsOf({ ...options, resourceEndpoint })).toEqual([
        expect.stringContaining(`resourceEndpoint has the path ${path}, which servers do not all read alike`),
      ])
    }
    expect(faultsOf({ ...options, resourceEndpoint: 'https://x.example/v1.2/{resourceId};a' })).toEqual([])
  })
})

describe('what a route says of its answers', () => {
  const delivered = (status: number) => status < 500

  test('delivered is a function of embedded routes that cost something', () => {
    expect(faultsOf({ routes: [route('/x', { delivered })] })).toEqual([])
    expect(faultsOf({ proxyTo, routes: [route('/x', { delivered })] })).toEqual([
      'routes: route "r" has delivered, which is for routes that handlers of your own answer (payPerRequest); of a backend 2xx is a delivery. Leave it out.',
    ])
    const free = { routeId: 'r', method: 'GET', path: '/x', free: true, delivered } as const
    expect(faultsOf({ routes: [free] })).toEqual([
      'routes[0] has both free: true and delivered; what is free is not refunded.',
    ])
    for (const value of [true, '(status) => true', { 200: true }]) {
      expect(faultsOf({ routes: [route('/x', { delivered: value as never })] })).toEqual([
        `routes[0].delivered ${JSON.stringify(value)} must be a function, for example (status) => status < 500; JSON cannot hold one, so leave it out there.`,
      ])
    }
  })

  test('raw is true or false', () => {
    expect(faultsOf({ proxyTo, routes: [route('/x', { raw: true })] })).toEqual([])
    expect(faultsOf({ proxyTo, routes: [route('/x', { raw: 'yes' as never })] })).toEqual([
      'routes[0].raw is a text; it must be true or false, for example raw: true.',
    ])
  })
})

describe('the backend', () => {
  test.each<[object, string]>([
    [{ proxyTo: 'http://b' }, 'proxyTo is a text; it must be an object, for example proxyTo: { baseUrl:'],
    [{ proxyTo: {} }, 'proxyTo is missing; it says where the backend is, for example proxyTo: { baseUrl:'],
    [{ proxyTo: { baseUrl: 8080 } }, 'proxyTo is a number; it must be a URL, for example'],
    [{ proxyTo: { baseUrl: 'ftp://b' } }, 'proxyTo begins with ftp:'],
    [{ proxyTo: { baseUrl: 'http://b?x=1' } }, 'proxyTo has a part after "?"'],
    [{ proxyTo: { baseUrl: 'http://u:hunter2@b' } }, 'proxyTo carries a user name or password'],
    [{ proxyTo: { baseUrl: 'http://localhost:3000' } }, 'proxyTo is the gateway itself'],
    [{ proxyTo: { ...proxyTo, url: 'x' } }, 'proxyTo has an unknown member "url"'],
    [{ proxyTo: { ...proxyTo, secret: '' } }, 'proxyTo.secret is empty'],
    [{ proxyTo: { ...proxyTo, timeoutSeconds: 0.5 } }, 'proxyTo.timeoutSeconds is 0.5'],
    [{ fetchResource: 'http://b' }, 'fetchResource is a text; it must be a function.'],
    [{ proxyTo, fetchResource: () => new Response() }, 'fetchResource and proxyTo are both set; keep one'],
    [{ maxResourceBytes: 1 }, 'maxResourceBytes is 1; it must be a whole number from 1024'],
  ])('%j is one line', (change, line) => {
    const lines = faultsOf(change)
    expect(lines).toEqual([expect.stringContaining(line)])
    expect(lines.join()).not.toContain('hunter2')
  })

  test('may be on the gateway’s host; without one, routes are embedded', () => {
    const baseUrl = 'https://x.example/pay'
    const { config } = checkConfig({ ...good, baseUrl, proxyTo: { baseUrl: 'https://x.example/api/' } })
    expect(config?.backend).toEqual({
      kind: 'proxy',
      baseUrl: 'https://x.example/api',
      secret: null,
      timeoutSeconds: 30,
    })
    expect(checkConfig({ ...good, routes: [route('/x')] }).config?.backend).toEqual({ kind: 'embedded' })
  })
})
