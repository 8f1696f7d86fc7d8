/** A call whose price is asked. */
export interface PricedCall {
  routeId: string
  method: string
  /** Without its query. */
  path: string
  /** The parameters of the route's path, decoded. */
  params: Record<string, string>
  /** By name; a name that is repeated has a list. */
  query: Record<string, string | string[]>
  /** Absent if the call has none, and for routes of your own server (`payPerRequest`), whose body is not read for a price. */
  body?: Uint8Array
}

/**
 * Says what a call costs. It is asked for every new offer, and never for a call that is paid.
 *
 * @example
 * const byLength: PriceOfCall = ({ query }) => (query.long === 'yes' ? '$0.05' : '$0.01')
 */
export type PriceOfCall = (call: PricedCall) => string | Promise<string>
