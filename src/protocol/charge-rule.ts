import { z } from 'zod'

const POINTER_RULE = 'must be a JSON pointer such as "/usage/total_tokens"'
const PRICE_RULE = 'must be "$" and a decimal number of at most 12 decimals, for example "$0.000002"'

/** The digits of the smallest part of a dollar that a rule can name: a token of a model may cost less than a micro-dollar. */
export const RULE_DECIMALS = 12

/** How a metered route finds its charge in the answer: the number at `per`, times `unitAmount`. */
export const ChargeRule = z.strictObject({
  per: z.string(POINTER_RULE).regex(/^(\/([^~/]|~0|~1)*)+$/, POINTER_RULE),
  unitAmount: z.string(PRICE_RULE).regex(/^\$\d{1,12}(\.\d{1,12})?$/, PRICE_RULE),
})
export type ChargeRule = z.infer<typeof ChargeRule>

/** What an answer says about its cost. Undefined: nothing. */
export type StatedCharge =
  /** As in `Settlement-Overrides`: units of the token, a percentage of the maximum, or dollars. */
  | { kind: 'amount'; amount: unknown }
  /** The number at the place that the route's rule names. */
  | { kind: 'quantity'; quantity: unknown; rule: ChargeRule }
