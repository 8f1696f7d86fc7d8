import { code } from './markdown.ts'
import type { Offer } from './offer.ts'

/** Both are needed: a plan that grants credits, and a route that takes them. */
export function sellsCredits({ discovery }: Offer): boolean {
  const some = ({ credits }: { credits?: number | undefined }) => credits !== undefined
  return discovery.plans.some(some) && discovery.routes.some(some)
}

export const computesPrices = ({ discovery }: Offer): boolean =>
  discovery.routes.some(({ maxAmount }) => maxAmount !== undefined)

/** After the price of a plan. */
export const granted = (credits: number | undefined): string =>
  credits === undefined ? '' : ` for ${counted(credits)}`

/** After the price of a route. */
export const prepaid = (credits: number | undefined): string =>
  credits === undefined ? '' : ` or ${counted(credits)}`

export const counted = (credits: number): string => `${credits} ${credits === 1 ? 'credit' : 'credits'}`

/** How credits are spent, as sentences in Markdown; none where no credits are sold. */
export function creditLines(offer: Offer): string[] {
  if (!sellsCredits(offer)) return []
  const { plans, routes } = offer.discovery
  const ids = (list: Array<[id: string, credits: number | undefined]>) =>
    list.flatMap(([id, credits]) => (credits === undefined ? [] : `${code(id)} (${credits})`)).join(', ')
  return [
    `Plans that grant credits: ${ids(plans.map(({ planId, credits }) => [planId, credits]))}. Routes that take them: ${ids(routes.map(({ routeId, credits }) => [routeId, credits]))}.`,
    `Buy a plan once, then call the route with its token: ${code('Authorization: Bearer <accessToken>')}. The call is debited instead of paid, without a wait for the chain; a call that fails costs nothing.`,
    `Answers carry ${code('x-svc-credits-charged')} and ${code('x-svc-credits-remaining')}; ${code(`GET ${offer.baseUrl}/x402/credits`)} with the same token tells granted, spent, reserved, remaining and expiresAt.`,
    `With a new ${code('Idempotency-Key')} per call, the same one for a retry, a call is debited once.`,
    `402 ${code('CREDITS_EXHAUSTED')}: buy the plan that ${code('topUp')} names, which adds to the account, or pay for this one call by the terms of the 402.`,
  ]
}

/** The same in a sentence, for guidance in JSON. */
export function creditGuidance(offer: Offer): string | undefined {
  if (!sellsCredits(offer)) return undefined
  return `Credits: some plans grant them; their token (Authorization: Bearer) then calls routes with credits without a payment, GET ${offer.baseUrl}/x402/credits tells the balance, and 402 CREDITS_EXHAUSTED names in topUp the plan to buy again.`
}
