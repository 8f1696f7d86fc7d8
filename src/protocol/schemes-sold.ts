import type { DiscoveryCatalog, RefundTerms } from './catalog.ts'
import { SCHEME } from './payment.ts'
import { UPTO_SCHEME } from './permit2.ts'

/** Of a route or an offered rail: the call decides the price, and its buyer signs a maximum. */
export const isMetered = ({ scheme }: { scheme?: string | undefined }): boolean => scheme === UPTO_SCHEME

/** A catalog that sells nothing yet counts as one of fixed prices. */
export function schemesSold({
  plans,
  routes,
}: {
  plans: readonly unknown[]
  routes: ReadonlyArray<Pick<DiscoveryCatalog['routes'][number], 'scheme' | 'free'>>
}): Array<typeof SCHEME | typeof UPTO_SCHEME> {
  const paid = routes.filter(({ free }) => !free)
  if (!paid.some(isMetered)) return [SCHEME]
  return plans.length === 0 && paid.every(isMetered) ? [UPTO_SCHEME] : [SCHEME, UPTO_SCHEME]
}

/** What buyers of metered calls are told instead of the promise of a refund. */
export const NEVER_CHARGED =
  'Nothing is charged for a metered call that fails: it is charged after it was answered, so there is nothing to refund.'

/** The refund terms of a metered route: only money that arrived twice ever goes back. */
export function meteredRefunds({ callsAfterSeconds: _ofCalls, ...terms }: RefundTerms): RefundTerms {
  return { ...terms, description: NEVER_CHARGED }
}
