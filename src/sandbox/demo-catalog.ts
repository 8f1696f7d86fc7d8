import { BROKEN_PATH } from './demo-backend.ts'

/** The plan whose buyer calls often and pays once. */
export const CREDIT_PLAN = 'calls'

/** What the sandbox sells. */
export const PLANS = [
  { planId: 'hourly', unitAmount: '$0.25', description: 'Weather for an hour' },
  { planId: 'daily', unitAmount: '$0.90', tokenTtlSeconds: 86_400, description: 'Weather for a day' },
  {
    planId: CREDIT_PLAN,
    unitAmount: '$0.10',
    credits: 20,
    tokenTtlSeconds: 30 * 86_400,
    description: '20 forecasts of single cities, paid once',
  },
]

export const ROUTES = [
  {
    routeId: 'forecast',
    method: 'GET',
    path: '/forecast/:city',
    unitAmount: '$0.01',
    credits: 1,
    description: 'The weather of one city, now',
  },
  {
    routeId: 'broken',
    method: 'GET',
    path: BROKEN_PATH,
    unitAmount: '$0.50',
    description: 'Cannot be delivered: shows a refund',
  },
]
