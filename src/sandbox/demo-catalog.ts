import { BROKEN_PLAN } from './demo-backend.ts'

/** What the sandbox sells. */
export const PLANS = [
  { planId: 'hourly', unitAmount: '$0.25', description: 'Weather for an hour' },
  { planId: 'daily', unitAmount: '$0.90', description: 'Weather for a day' },
  { planId: BROKEN_PLAN, unitAmount: '$0.50', description: 'Cannot be delivered: shows a refund' },
]

export const ROUTES = [
  {
    routeId: 'forecast',
    method: 'GET',
    path: '/forecast/:city',
    unitAmount: '$0.01',
    description: 'The weather of one city, now',
  },
]
