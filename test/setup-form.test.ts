import { expect, test } from 'vitest'
import { PlanSchema, RouteSchema } from '../src/protocol/catalog.ts'
import { formFrom, inputOf } from '../ui/setup/form-state.ts'
import type { NetworkChoice } from '../ui/shared/wire.ts'

test('what was saved of plans and routes survives the setup form, every member of it', () => {
  const plan = { planId: 'basic', unitAmount: '$1.00', description: 'All', tokenTtlSeconds: 60, credits: 9 }
  const sold = { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', raw: true }
  const asked = {
    ...{ routeId: 'ask', method: 'POST', path: '/ask', maxAmount: '$2.00', credits: 3 },
    priceFrom: 'http://localhost:8080/price',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'string' },
  }
  const metered = {
    ...{ routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
    charge: { per: '/usage/total_tokens', unitAmount: '$0.000002' },
    chargeIfUnstated: 'nothing',
    stream: { maxUnpaidPerPayer: '$0.10', maxUnpaid: '$5.00' },
    raw: true,
  }
  const given = { routeId: 'cities', method: 'GET', path: '/cities', free: true, description: 'All cities' }
  expect(new Set(Object.keys(plan))).toEqual(new Set(Object.keys(PlanSchema.shape)))
  // JSON cannot hold a function.
  const { delivered: _function, ...shape } = RouteSchema.shape
  expect(new Set(Object.keys({ ...sold, ...asked, ...metered, ...given }))).toEqual(
    new Set(Object.keys(shape)),
  )
  const values = { PLANS: [plan], ROUTES: [sold, asked, metered, given] }
  const nothing = { secrets: {}, locked: [], missing: [], faults: [], networks: [] }
  const state = { configured: true, values, ...nothing }
  expect(inputOf(formFrom(state), state).values).toEqual(values)
})

test('settings of single networks are sent, and go with their network when it is no longer chosen', () => {
  const network = (word: string, chainId: number): NetworkChoice => ({
    id: `eip155:${chainId}`,
    word,
    aliases: [],
    name: word,
    chainId,
    asset: '0x',
    testnet: false,
    coin: 'ETH',
    facilitator: false,
  })
  const state = {
    configured: true,
    values: { SVC_NETWORK: 'base,polygon', SVC_WALLET_ADDRESS_137: '0x1', PLANS: [] },
    secrets: { RPC_URL: { set: false }, RPC_URL_137: { set: true } },
    locked: [],
    missing: [],
    faults: [],
    networks: [network('base', 8453), network('polygon', 137)],
  }
  const form = formFrom(state)
  const typed = { ...form, secrets: { RPC_URL_8453: 'https://rpc.example' } }
  expect(inputOf(typed, state)).toEqual({
    values: { SVC_NETWORK: 'base,polygon', SVC_WALLET_ADDRESS_137: '0x1' },
    secrets: { RPC_URL_8453: 'https://rpc.example' },
  })
  const alone = { ...typed, values: { ...typed.values, SVC_NETWORK: 'base' } }
  expect(inputOf(alone, state)).toEqual({
    values: { SVC_NETWORK: 'base' },
    secrets: { RPC_URL_8453: 'https://rpc.example', RPC_URL_137: null },
  })
})
