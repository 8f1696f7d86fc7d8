import {
  checkEndpointSchema,
  checkL2ForOpenAPI,
  checkL4ForOpenAPI,
  getOpenAPI,
  getWarningsForFavicon,
  getWarningsForL2,
  getWarningsForL3,
  getWarningsForL4,
  getWarningsForOpenAPI,
  isOpenApiParseFailure,
  validatePaymentRequiredDetailed,
} from '@agentcash/discovery'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import { paymentHeader, signAuthorization } from '../../src/testing/index.ts'
import { cli } from './cli-terminal.ts'
import { ROUTES, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { PRICE } from './world.ts'

let shop: RoutesWorld
beforeAll(async () => {
  const plans = [
    { planId: 'basic', unitAmount: '$1.00', credits: 50 },
    { planId: 'pro', unitAmount: '$2.50' },
  ]
  const routes = ROUTES.map((route) => (route.routeId === 'report' ? { ...route, credits: 1 } : route))
  shop = await startRoutesWorld({ options: { mcp: true, contactEmail: 'agents@acme.dev', plans, routes } })
})
afterAll(() => shop.stop())

describe('a directory that looks at a gateway with plans, routes, credits and tokens', () => {
  const openApi = async () => {
    const document = (await getOpenAPI(shop.world.baseUrl))._unsafeUnwrap()
    if (document === null || isOpenApiParseFailure(document)) throw new Error('openapi.json was not read')
    return document
  }

  test('has nothing to object to in its description', async () => {
    const document = await openApi()
    expect(getWarningsForOpenAPI(document)).toEqual([])
    expect(getWarningsForL2(checkL2ForOpenAPI(document))).toEqual([])
    expect(getWarningsForL4(checkL4ForOpenAPI(document))).toEqual([])
    expect((await getWarningsForFavicon(shop.world.baseUrl))._unsafeUnwrap()).toEqual([])
    expect(document.info.contactEmail).toBe('agents@acme.dev')
    const modes = document.routes.map(({ method, path, authMode }) => `${method} ${path} ${authMode}`)
    expect(modes).toEqual(
      expect.arrayContaining([
        'GET /weather/{city} paid',
        'POST /report paid',
        'GET /cities unprotected',
        'POST /x402/access paid',
        'GET /resource/{resourceId} apiKey',
        'GET /x402/credits apiKey',
      ]),
    )
  })

  test('finds no fault with any endpoint, as described and as probed without a body', async () => {
    const { routes } = await openApi()
    for (const { path, method, authMode } of routes) {
      const url = `${shop.world.baseUrl}${path}`
      const described = await checkEndpointSchema({ url })
      if (!described.found) throw new Error(`${path} is not described`)
      expect({ path, warnings: described.advisories.flatMap(getWarningsForL3) }).toEqual({
        path,
        warnings: [],
      })
      if (authMode !== 'paid') continue
      const probed = await checkEndpointSchema({ url, probe: true })
      const found = probed.found ? probed.advisories.find((one) => one.method === method) : undefined
      expect(found).toMatchObject({ authMode: 'paid', source: 'probe' })
      expect(getWarningsForL3(found!)).toEqual([])
      expect(found!.paymentOptions?.map(({ protocol }) => protocol)).toEqual(['x402', 'mpp'])
      expect(validatePaymentRequiredDetailed(found!.paymentRequiredBody)).toMatchObject({
        valid: true,
        issues: [],
        normalized: { hasInputSchema: true, hasOutputSchema: true },
      })
    }
  })
})

describe('a request without a single byte', () => {
  const probe = (headers: Record<string, string> = {}) =>
    fetch(`${shop.world.baseUrl}/x402/access`, { method: 'POST', headers })

  test('is offered the cheapest plan, upfront, and pays for it without a byte', async () => {
    const answer = await probe()
    expect(answer.status).toBe(402)
    const required = decodeJsonObject(answer.headers.get('payment-required')!) as never as Awaited<
      ReturnType<typeof shop.world.terms>
    >
    const [accepted] = required.accepts
    expect(accepted!.extra).toMatchObject({ planId: 'basic', paymentFlow: 'upfront' })
    const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
    const header = await shop.world.sign(buyer, accepted!)
    const bought = await probe({ 'payment-signature': header })
    expect(bought.status).toBe(200)
    expect(await bought.json()).toMatchObject({ type: 'AccessGrant', planId: 'basic' })
    expect(await shop.world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('of a payment that does not say what it buys is 400, and moves no money', async () => {
    const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
    const { accepts } = await shop.world.terms()
    const [accepted] = accepts
    const signed = await signAuthorization({ account: buyer.account, requirements: accepted! })
    const nameless = { ...signed, accepted: accepted!, overrides: { accepted: undefined } }
    const answer = await probe({ 'payment-signature': paymentHeader(nameless) })
    expect(answer.status).toBe(400)
    expect(await shop.world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })
})

describe('what is promised about refunds', () => {
  const told = async () => {
    const get = async (path: string) => (await fetch(shop.world.baseUrl + path)).text()
    const { body } = await shop.world.access({ planId: 'basic' })
    const { svc } = body.extensions as { svc: { refunds: { policy: string; description: string } } }
    const { refunds } = JSON.parse(await get('/discover')) as { refunds: unknown }
    expect(refunds).toEqual(svc.refunds)
    const { info } = JSON.parse(await get('/openapi.json')) as { info: { 'x-guidance': string } }
    for (const text of [info['x-guidance'], await get('/llms.txt'), await get('/skills.md')]) {
      expect(text).toContain(svc.refunds.description)
      expect(text).toContain('MPP')
    }
    return svc.refunds
  }

  test('is the same everywhere, and true of a gateway without a key for refunds too', async () => {
    const { baseUrl } = shop.world
    const statusUrl = `${baseUrl}/x402/challenges/{challengeId}`
    expect(await told()).toMatchObject({ policy: 'automatic', callsAfterSeconds: 300, statusUrl })
    await shop.world.restart({ refundWalletPrivateKey: undefined })
    const manual = await told()
    expect(manual).toEqual({ policy: 'manual', description: manual.description, statusUrl })
    expect(manual.description).toContain('by hand')
    await shop.world.restart()
  })
})

describe('paystile doctor --public', () => {
  test('says one good line each about a live gateway, and nothing that a directory would object to', async () => {
    const { baseUrl } = shop.world
    const { code, output } = await cli({}, 'doctor', '--public', baseUrl)
    const lines = output.trim().split('\n')
    expect(lines.filter((line) => /^(warn|error)/.test(line))).toEqual([
      expect.stringMatching(/^warn +https +.* is this machine/),
    ])
    for (const name of [
      ...['openapi.json', 'operations', 'contact', 'guidance', 'favicon', 'agent card', 'MCP'],
      ...['GET /weather/{city}', 'POST /report', 'POST /x402/access'],
    ]) {
      expect(lines.some((line) => line.startsWith(`ok     ${name}  `))).toBe(true)
    }
    expect(output).toMatch(/GET \/weather\/\{city\} +402, x402 on eip155:84532, MPP, .* KiB of headers/)
    expect(code).toBe(0)
    expect(await cli({ BASE_URL: `${baseUrl}/` }, 'doctor', '--public')).toMatchObject({ code: 0, output })
  })
})
