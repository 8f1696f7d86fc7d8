import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** `extensions.svc.credits` in the body of a 402: what is sold can also be prepaid, or grants what prepays. */
export interface CreditTerms {
  /** Routes: what a prepaid call costs. */
  cost?: number
  /** Plans: what is granted. */
  grants?: number
  /** Routes: the plans that grant credits. */
  plans?: Array<{ planId: string; credits: number }>
  description: string
}

type Sold = Pick<DiscoveryCatalog, 'plans' | 'routes'>

const granting = ({ plans }: Sold) =>
  plans.flatMap(({ planId, credits }) => (credits === undefined ? [] : [{ planId, credits }]))

const spendable = (sold: Sold): boolean =>
  granting(sold).length > 0 && sold.routes.some(({ credits }) => credits !== undefined)

const balanceAt = (baseUrl: string): string => `GET ${baseUrl}/x402/credits tells what is left.`

/** Nothing for a route that takes none, or while no plan grants any. */
export function creditsOfRoute(
  baseUrl: string,
  sold: Sold,
  { credits }: Sold['routes'][number],
): { credits?: CreditTerms } {
  if (credits === undefined || !spendable(sold)) return {}
  const description = `Instead of a payment, send the token of one of these plans as Authorization: Bearer. ${balanceAt(baseUrl)}`
  return { credits: { cost: credits, plans: granting(sold), description } }
}

export function creditsOfPlan(
  baseUrl: string,
  sold: Sold,
  { credits }: Sold['plans'][number],
): { credits?: CreditTerms } {
  if (credits === undefined || !spendable(sold)) return {}
  const description = `The token pays for calls of routes with credits: send it to them as Authorization: Bearer. ${balanceAt(baseUrl)}`
  return { credits: { grants: credits, description } }
}
