import { expect, test } from 'vitest'
import { DiscoveredRouteSchema, PlanSchema } from '../src/protocol/catalog.ts'
import { formFrom, inputOf } from '../ui/setup/form-state.ts'

test('what was saved of plans and routes survives the setup form, every member of it', () => {
  const plan = { planId: 'basic', unitAmount: '$1.00', description: 'All', tokenTtlSeconds: 60 }
  const sold = { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', raw: true }
  const given = { routeId: 'cities', method: 'GET', path: '/cities', free: true, description: 'All cities' }
  expect(new Set(Object.keys(plan))).toEqual(new Set(Object.keys(PlanSchema.shape)))
  expect(new Set(Object.keys({ ...sold, ...given }))).toEqual(
    new Set(Object.keys(DiscoveredRouteSchema.shape)),
  )
  const values = { PLANS: [plan], ROUTES: [sold, given] }
  const nothing = { secrets: {}, locked: [], missing: [], faults: [], networks: [] }
  const state = { configured: true, values, ...nothing }
  expect(inputOf(formFrom(state), state).values).toEqual(values)
})
