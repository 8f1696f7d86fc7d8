import type { Route } from '../protocol/catalog.ts'
import type { RoutePattern } from '../rules/route-pattern.ts'
import type { Price } from './read-price.ts'

/** A route as it will be; without a price yet where none is known. */
export type PlannedRoute = Omit<Route, 'delivered'>

export interface ImportedRoute {
  route: PlannedRoute
  kind: 'added' | 'changed' | 'same'
  /** What differs from the route that is there. */
  changes: string[]
  note?: string
}

export interface Candidate extends ImportedRoute {
  pattern: RoutePattern
  price: Price | undefined
}

export interface NotImported {
  method: string
  path: string
  reason: string
}
