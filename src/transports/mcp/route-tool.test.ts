import { expect, test } from 'vitest'
import { MAX_PATH_CHARACTERS } from '../../protocol/access.ts'
import type { DiscoveryCatalog, Route } from '../../protocol/catalog.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { instructBuyer } from './instruct-buyer.ts'
import { requestAccessTool } from './request-access-tool.ts'
import { routeTools } from './route-tool.ts'

const base = findNetwork('base')!
const CHAT: Route = { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }
const WEATHER: Route = { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' }
const PLAN = { planId: 'basic', unitAmount: '$1' }

function sell(routes: Route[], plans: Array<typeof PLAN> = []) {
  const discovery = {
    ...{ agentName: 'Acme', description: '', walletAddress: '0x11', asset: '0x22', network: base.id },
    ...{ chainId: base.chainId, plans, routes },
  } as unknown as DiscoveryCatalog
  const tools = [
    ...(plans.length > 0 ? [requestAccessTool([base])] : []),
    ...routeTools(buildCatalog([], routes), discovery, [base]),
  ]
  return { tools, instructions: instructBuyer(tools, discovery) }
}

test('the tool of a metered route promises no MPP, and that of a fixed price does', () => {
  const [chat, weather] = sell([CHAT, WEATHER]).tools.map(({ listing }) => listing.description)
  expect(chat).toContain('metered, at most $0.02 in USDC per call (x402, scheme upto).')
  expect(chat).not.toMatch(/MPP|paymentauth/)
  expect(weather).toContain('$0.01 in USDC per call (x402 or MPP).')
  expect(weather).toContain('_meta["org.paymentauth/credential"]')
})

test('the instructions promise MPP where something is sold for it', () => {
  expect(sell([CHAT]).instructions).not.toMatch(/MPP|paymentauth/)
  expect(sell([WEATHER]).instructions).toMatch(/by x402 or MPP\..*org\.paymentauth\/credential/)
  expect(sell([WEATHER]).instructions).not.toContain('Metered')
  for (const shop of [sell([CHAT, WEATHER]), sell([CHAT], [PLAN])])
    expect(shop.instructions).toMatch(/MPP.*Metered calls are paid by x402 only\.$/)
})

test('path and query of a call are as long as resource.path may be, and no longer', () => {
  const [weather] = sell([{ ...WEATHER, path: '/weather/:city' }]).tools
  if (weather?.kind !== 'sold') throw new Error('not sold')
  const asked = (length: number) => weather.intentOf({ city: 'oslo', query: { q: 'x'.repeat(length) } })
  const rest = '/weather/oslo?q='.length
  expect(asked(MAX_PATH_CHARACTERS - rest)).toMatchObject({ call: { path: expect.any(String) } })
  expect(asked(MAX_PATH_CHARACTERS - rest + 1)).toMatchObject({
    code: 'INVALID_REQUEST',
    message:
      'arguments of weather: path and query have 4097 characters together; at most 4096 are taken. Send less.',
  })
  expect(weather.intentOf({ city: 'o'.repeat(5000) })).toMatchObject({ code: 'INVALID_REQUEST' })
})
