/** What the shop of the soak sells; prices in micro-dollars. */
export const PLAN_MICRO = 250_000n
export const CREDIT_PLAN_MICRO = 100_000n
export const CREDITS = 20
export const CALL_MICRO = 10_000n
export const METERED_MICRO = 20_000n

export const PLANS = [
  { planId: 'basic', unitAmount: '$0.25' },
  { planId: 'calls', unitAmount: '$0.10', credits: CREDITS, tokenTtlSeconds: 172_800 },
]

export const ROUTES = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', credits: 1 },
  { routeId: 'chat', method: 'POST', path: '/chat/:topic', scheme: 'upto', maxAmount: '$0.02' },
]

/** The backend never answers for this city, so what was paid for it must come back. */
export const FAILING_CITY = 'atlantis'
