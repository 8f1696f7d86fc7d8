import type { Plan, Route } from '../protocol/catalog.ts'

/** What is allowed, but sells nothing as it stands: a line each, in the words of `label`. */
export function catalogWarnings(
  { plans, routes }: { plans: readonly Plan[]; routes: readonly Route[] },
  label: (list: 'plans' | 'routes') => string,
): string[] {
  const most = Math.max(0, ...plans.map(({ credits = 0 }) => credits))
  const costs = routes.flatMap(({ credits }) => credits ?? [])
  const least = Math.min(...costs)
  const ofRoutes = routes.flatMap(({ routeId, credits }, index) => {
    if (credits === undefined || credits <= most) return []
    const where = `${label('routes')}[${index}] (${routeId}) costs ${count(credits)}`
    return most === 0
      ? [
          `${where}, and no plan grants any: only those that were bought before can be spent. Give a plan credits, or take them out.`,
        ]
      : [
          `${where}, and no plan grants more than ${most}: one purchase does not pay for a call. Lower it, or let a plan grant more.`,
        ]
  })
  const ofPlans = plans.flatMap(({ planId, credits }, index) => {
    if (credits === undefined) return []
    const where = `${label('plans')}[${index}] (${planId}) grants ${count(credits)}`
    if (costs.length === 0)
      return [`${where}, and no route takes any: they buy nothing. Give a route credits, or take them out.`]
    // Where no plan reaches any route, each route says so already.
    if (credits >= least || most < least) return []
    return [
      `${where}, and no route costs less than ${least}: one purchase does not pay for a call. Let it grant more, or lower a route.`,
    ]
  })
  return [...ofRoutes, ...ofPlans]
}

const count = (credits: number): string => `${credits} ${credits === 1 ? 'credit' : 'credits'}`
