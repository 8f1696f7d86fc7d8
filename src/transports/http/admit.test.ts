import { describe, expect, test } from 'vitest'
import { sampleDialects } from '../../../test/transports/sample-x402.ts'
import type { Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { createAdmit, WITHOUT_PAYMENT } from './admit.ts'
import { createOutcomeRenderer } from './render-outcome.ts'

const HERE = { address: '203.0.113.7' }
const payment = { rail: 'sample' } as Payment
const baseUrl = 'https://api.example.com'
const render = createOutcomeRenderer(sampleDialects(baseUrl), baseUrl)
const malformed = new GatewayError('INVALID_REQUEST', 'no payment at all')

/** Says which budgets were asked; those that are named are used up. */
function admitting(...usedUp: Array<'unpaid' | 'paying'>) {
  const counted: string[] = []
  const count = (budget: 'unpaid' | 'paying') => {
    counted.push(budget)
    return usedUp.includes(budget) ? ({ ok: false, retryAfterSeconds: 7 } as const) : ({ ok: true } as const)
  }
  const limits = { rateLimit: () => count('unpaid'), failureLimit: () => count('paying') }
  return { admit: createAdmit(limits, render), counted }
}

describe('a request within the limits', () => {
  test('goes on with what was decoded of it', () => {
    const { admit, counted } = admitting()
    const decoded = { payment: undefined, requestId: 'r-1' }
    expect(admit(HERE, decoded)).toBe(decoded)
    expect(counted).toEqual(['unpaid'])
  })

  test('is counted once, and with a payment against the other budget', () => {
    const { admit, counted } = admitting('unpaid')
    const decoded = { payment, requestId: 'r-1' }
    expect(admit(HERE, decoded), 'unpaid requests have used up their own budget only').toBe(decoded)
    expect(counted).toEqual(['paying'])
  })

  test('that was not understood is told so, as it is to be rendered', () => {
    const { admit, counted } = admitting('paying')
    const headers = { 'www-authenticate': 'Bearer' }
    expect(admit(HERE, malformed)).toMatchObject({ status: 400 })
    expect(admit(HERE, malformed, { httpStatus: 403, headers })).toMatchObject({ status: 403, headers })
    expect(counted, 'as requests without a payment').toEqual(['unpaid', 'unpaid'])
  })
})

describe('a request over the limit', () => {
  test.each([
    ['without a payment', WITHOUT_PAYMENT, 'requests without a payment'],
    ['that was not understood', malformed, 'requests without a payment'],
    ['with a payment', { payment }, 'failing or repeated payments'],
  ])('%s is refused and told when to come back', (_which, decoded, what) => {
    const { admit, counted } = admitting('unpaid', 'paying')
    const refused = admit(HERE, decoded)
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '7' } })
    expect(refused).toHaveProperty('body', expect.stringContaining(`too many ${what}`))
    expect(counted).toHaveLength(1)
  })

  test('is 429 whatever status its own fault would have', () => {
    const { admit } = admitting('unpaid')
    expect(admit(HERE, malformed, { httpStatus: 200 })).toMatchObject({ status: 429 })
  })
})

test('without an address nobody is counted', () => {
  const { admit, counted } = admitting('unpaid', 'paying')
  expect(admit({}, WITHOUT_PAYMENT)).toBe(WITHOUT_PAYMENT)
  expect(admit({}, { payment })).toEqual({ payment })
  expect(admit({}, malformed)).toMatchObject({ status: 400 })
  expect(counted).toEqual([])
})

test('limits that are switched off refuse nothing', () => {
  const admit = createAdmit({}, render)
  expect(admit(HERE, WITHOUT_PAYMENT)).toBe(WITHOUT_PAYMENT)
  expect(admit(HERE, { payment })).toEqual({ payment })
})
