import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { BuyerClock } from './send-until-decided.ts'

type Route = DiscoveryCatalog['routes'][number]
type Plan = DiscoveryCatalog['plans'][number]

/** What gateways sell changes seldom. */
const REMEMBERED_MS = 3_600_000
/** Who could not be asked is asked again soon: credits may lie there. */
const FAILURE_REMEMBERED_MS = 60_000

/** A catalog; without it, why there is none: it cannot be asked now, or is no gateway. */
export type AskedCatalog = { catalog: DiscoveryCatalog } | { catalog?: undefined; why: string }

/** What gateways say in `/discover`, asked once and remembered. */
export interface Catalogs {
  of(base: string): Promise<AskedCatalog>
  learn(base: string, catalog: DiscoveryCatalog): void
  /** It turned out to be out of date, or is to be asked again. */
  forget(base: string): void
  /** Gateways of this origin that were asked. */
  basesAt(origin: string): string[]
}

export function rememberCatalogs(
  ask: (base: string) => Promise<DiscoveryCatalog>,
  clock: BuyerClock,
): Catalogs {
  const known = new Map<string, { asked: Promise<AskedCatalog>; until: number }>()
  const keep = (base: string, asked: Promise<AskedCatalog>) => {
    const kept = { asked, until: clock.now() + REMEMBERED_MS }
    known.set(base, kept)
    return kept
  }
  return {
    of(base) {
      const found = known.get(base)
      if (found && clock.now() < found.until) return found.asked
      const kept = keep(
        base,
        ask(base).then(
          (catalog) => ({ catalog }),
          (error: unknown) => {
            kept.until = clock.now() + FAILURE_REMEMBERED_MS
            return { why: error instanceof Error ? error.message : String(error) }
          },
        ),
      )
      return kept.asked
    },
    learn: (base, catalog) => void keep(base, Promise.resolve({ catalog })),
    forget: (base) => void known.delete(base),
    basesAt: (origin) => [...known.keys()].filter((base) => new URL(base).origin === origin),
  }
}

/** The route that this call is of, if it takes credits. Its path is below the gateway's, or beside it in the seller's app. */
export function creditRoute(
  { routes }: DiscoveryCatalog,
  base: string,
  { method, url }: { method: string; url: string },
): Route | undefined {
  const { pathname } = new URL(url)
  const prefix = new URL(base).pathname.replace(/\/$/, '')
  const paths = [pathname, ...(pathname.startsWith(`${prefix}/`) ? [pathname.slice(prefix.length)] : [])]
  return routes.find(
    (route) =>
      isCredits(route.credits) && route.method === method && paths.some((path) => isAt(route.path, path)),
  )
}

/** The plan to buy for such calls: the one that is wanted, otherwise the first that grants enough for one. */
export function creditPlan({ plans }: DiscoveryCatalog, route: Route, wanted?: string): Plan | undefined {
  const enough = plans.filter(({ credits }) => isCredits(credits) && credits >= (route.credits ?? 0))
  return enough.find(({ planId }) => planId === wanted) ?? enough[0]
}

/** Whether this plan is sold, with credits. */
export function grantsCredits({ plans }: DiscoveryCatalog, { planId }: { planId: string }): boolean {
  return plans.some((plan) => plan.planId === planId && isCredits(plan.credits))
}

/** A catalog is what a stranger says, and limits are computed with this number. */
export function isCredits(credits: number | undefined): credits is number {
  return Number.isSafeInteger(credits) && credits! > 0
}

function isAt(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === given[index]))
  )
}
