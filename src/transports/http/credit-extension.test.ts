import { expect, test } from 'vitest'
import { challengeExtensions } from './challenge-extensions.ts'

const plan = { planId: 'pack', unitAmount: '$1.00' }
const route = { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' } as const

function svcOf(credits: { plan?: number; route?: number }) {
  const discovery = {
    plans: [credits.plan === undefined ? plan : { ...plan, credits: credits.plan }],
    routes: [credits.route === undefined ? route : { ...route, credits: credits.route }],
  }
  const settings = { embedded: false, discovery, perOffer: [] }
  const extensions = challengeExtensions('https://pay.acme.dev', settings)
  const bodyOf = (kind: 'plan' | 'route', itemId: string) =>
    JSON.parse(extensions.bodyJson({ kind, itemId }).json).svc.credits
  const headerOf = (itemId: string) => extensions.headerJson({ kind: 'route', itemId } as never)
  return { plan: bodyOf('plan', 'pack'), route: bodyOf('route', 'weather'), header: headerOf('weather') }
}

test('the body of a 402 tells what a prepaid call costs, and which plans grant credits', () => {
  const { plan, route, header } = svcOf({ plan: 500, route: 2 })
  expect(plan).toEqual({ grants: 500, description: expect.stringContaining('Authorization: Bearer') })
  expect(route).toEqual({
    cost: 2,
    plans: [{ planId: 'pack', credits: 500 }],
    description: expect.stringContaining('GET https://pay.acme.dev/x402/credits'),
  })
  expect(header, 'every client echoes the header').not.toContain('credits')
})

test('it says nothing of credits that cannot be spent', () => {
  for (const credits of [{}, { plan: 500 }, { route: 2 }]) {
    const { plan, route } = svcOf(credits)
    expect([plan, route]).toEqual([undefined, undefined])
  }
})
