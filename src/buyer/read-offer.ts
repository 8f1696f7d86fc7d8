import { z } from 'zod'
import { microToDollars, UintString } from '../protocol/amount.ts'
import { decodeJsonObject } from '../protocol/base64.ts'
import { AddressSchema, type Hex, sameHex } from '../protocol/hex.ts'
import { SCHEME, X402_VERSION } from '../protocol/payment.ts'
import { UPTO_SCHEME } from '../protocol/permit2.ts'
import type { BuyerErrorCode } from './buyer-error.ts'
import {
  type AllowedNetworks,
  type BuyerNetwork,
  decimalsOf,
  isTestnet,
  networkName,
} from './buyer-networks.ts'

/** An offer that passed every check. */
export interface Offer {
  network: BuyerNetwork
  /** `upto`: metered. The amounts are the most that the call may cost. */
  scheme: 'exact' | 'upto'
  /** Of a metered call: the only account that can charge it. */
  facilitator?: Hex
  /** The price in millionths of a dollar, which limits are compared with. */
  amountMicro: bigint
  /** The price in the token's own units, which is what is signed. */
  amountUnits: bigint
  payTo: Hex
  maxTimeoutSeconds: number
  challengeId?: string
  /** The unchanged element of `accepts`: the gateway finds its challenge by it. */
  accepted: Record<string, unknown>
  /** `resource` of the 402, repeated as x402 v2 requires. */
  resource?: unknown
}

/** Why an element of `accepts` cannot be paid. */
export interface Unfit {
  code: BuyerErrorCode
  /** Names the network, to stand beside the others. */
  why: string
  /** The whole message where the 402 offers nothing else. */
  message: string
}

const RequirementsSchema = z.looseObject({
  scheme: z.string(),
  network: z.string(),
  asset: z.string(),
  amount: UintString,
  payTo: AddressSchema,
  maxTimeoutSeconds: z.number().positive().optional(),
  extra: z.looseObject({ challengeId: z.string().optional() }).optional(),
})

/** What an offer by scheme `upto` must add. */
const MeteredExtraSchema = z.looseObject({
  assetTransferMethod: z.literal('permit2', { error: 'must be "permit2" for scheme "upto"' }),
  facilitatorAddress: AddressSchema,
})
/** Of a word of the seller's that a refusal shows, to people or to a model. */
const MAX_WORD = 64
const NO_ACCOUNT = `0x${'0'.repeat(40)}`

const PaymentRequiredSchema = z.looseObject({
  x402Version: z.literal(X402_VERSION),
  accepts: z.array(z.record(z.string(), z.unknown())).min(1),
  resource: z.unknown().optional(),
})
export type RawOffer = z.infer<typeof PaymentRequiredSchema>

/** The x402 v2 object of a 402, from its header or its body; undefined when it has none. */
export function findOffer(header: string | null, bodyText: string): RawOffer | undefined {
  const fromHeader = header === null ? undefined : PaymentRequiredSchema.safeParse(decodeJsonObject(header))
  if (fromHeader?.success) return fromHeader.data
  try {
    const fromBody = PaymentRequiredSchema.safeParse(JSON.parse(bodyText))
    return fromBody.success ? fromBody.data : undefined
  } catch {
    return undefined
  }
}

/**
 * The ways to pay that the buyer allows, in the caller's order or else the seller's, and why the others are not
 * among them. A fixed price comes before a metered one, unless the caller prefers those. The token and its signing domain come from the buyer's own table: an offer could name a worthless
 * look-alike, or a domain under which the signature means something else.
 */
export function readOffers(
  raw: RawOffer,
  allowed: AllowedNetworks,
  maxMicro: bigint,
): { fitting: Offer[]; unfit: Unfit[] } {
  const fitting: Offer[] = []
  const unfit: Unfit[] = []
  /** Whoever did not choose the networks must not be led from test money to real money within one offer. */
  const testMoney = allowed.named
    ? undefined
    : raw.accepts.map(({ network }) => isTestnet(String(network))).find((kind) => kind !== undefined)
  for (const accepted of raw.accepts) {
    const read = checkRequirements(accepted, allowed, maxMicro)
    if ('code' in read) unfit.push(read)
    else if (testMoney !== undefined && isTestnet(read.network.id) !== testMoney) unfit.push(otherMoney(read))
    else fitting.push(raw.resource === undefined ? read : { ...read, resource: raw.resource })
  }
  const preference = ({ network }: Offer) => allowed.networks.indexOf(network)
  if (allowed.named) fitting.sort((a, b) => preference(a) - preference(b))
  const rank = ({ scheme }: Offer) => ((scheme === UPTO_SCHEME) === (allowed.metered === 'prefer') ? 0 : 1)
  fitting.sort((a, b) => rank(a) - rank(b))
  return { fitting, unfit }
}

function otherMoney({ network: { id } }: Offer): Unfit {
  const kind = isTestnet(id) ? 'test' : 'real'
  const why = `${networkName(id)} takes ${kind} money and the first offer does not; name it in networks to pay there`
  return { code: 'OFFER_REFUSED', why, message: `${why}; nothing was signed` }
}

function checkRequirements(
  accepted: Record<string, unknown>,
  { networks, metered }: AllowedNetworks,
  maxMicro: bigint,
): Offer | Unfit {
  const parsed = RequirementsSchema.safeParse(accepted)
  if (!parsed.success) return unreadable(parsed.error)
  const wanted = parsed.data
  const name = networkName(wanted.network)
  const [scheme, id, asset] = [wanted.scheme, wanted.network, wanted.asset].map((word) =>
    word.slice(0, MAX_WORD),
  )
  const refuse = (why: string, message: string): Unfit => ({
    code: 'OFFER_REFUSED',
    why,
    message: `${message}; nothing was signed`,
  })
  const isMetered = wanted.scheme === UPTO_SCHEME && metered !== 'off'
  if (wanted.scheme !== SCHEME && !isMetered) {
    const paid = metered === 'off' ? '"exact"' : '"exact" and "upto"'
    return refuse(
      `${name} by scheme "${scheme}", and this buyer pays ${paid}`,
      `the seller asks for scheme "${scheme}"; this buyer pays ${paid}`,
    )
  }
  const extra = isMetered ? MeteredExtraSchema.safeParse(wanted.extra ?? {}) : undefined
  if (extra?.error) return unreadable(extra.error, 'extra')
  const facilitator = extra?.data.facilitatorAddress
  if (facilitator === NO_ACCOUNT || (isMetered && wanted.payTo === NO_ACCOUNT)) {
    const message = 'accepts[] of the 402 names the account 0x0, which can neither charge nor be paid'
    return { code: 'OFFER_UNREADABLE', why: message, message }
  }
  const sameChain = networks.filter(({ id }) => id === wanted.network)
  if (sameChain.length === 0) {
    const known = [...new Set(networks.map(({ id }) => id))].join(', ')
    return refuse(
      `${name} is not among the networks that this buyer allows`,
      `the seller wants payment on ${id}; this buyer allows ${known}`,
    )
  }
  const network = sameChain.find(({ asset }) => sameHex(wanted.asset, asset))
  if (!network) {
    const known = sameChain.map(({ asset }) => asset).join(' or ')
    return refuse(
      `token ${asset} on ${name} is not known; USDC there is ${known}`,
      `the seller asks for token ${asset}; USDC on ${id} is ${known}`,
    )
  }
  const amountUnits = BigInt(wanted.amount)
  const amountMicro = inMicro(amountUnits, decimalsOf(network))
  if (amountMicro > maxMicro) {
    const [price, limit] = [microToDollars(amountMicro), microToDollars(maxMicro)]
    const is = isMetered ? 'may be up to' : 'is'
    return {
      code: 'OVER_LIMIT',
      why: `the price on ${name} ${is} ${price} and the limit ${limit}`,
      message: `the price ${is} ${price} and the limit ${limit}; raise maxAmount to buy this. Nothing was signed`,
    }
  }
  const challengeId = wanted.extra?.challengeId
  return {
    network,
    scheme: isMetered ? UPTO_SCHEME : SCHEME,
    ...(facilitator !== undefined && { facilitator }),
    amountMicro,
    amountUnits,
    payTo: wanted.payTo,
    maxTimeoutSeconds: wanted.maxTimeoutSeconds ?? 300,
    ...(challengeId !== undefined && { challengeId }),
    accepted,
  }
}

function unreadable(error: z.ZodError, ...within: string[]): Unfit {
  const issue = error.issues[0]!
  const message = `accepts[].${[...within, ...issue.path].join('.')} of the 402: ${issue.message}`
  return { code: 'OFFER_UNREADABLE', why: message, message }
}

/** Millionths, rounded up: a limit must never be passed by a fraction. */
function inMicro(units: bigint, decimals: number): bigint {
  const one = 10n ** BigInt(decimals)
  return (units * 1_000_000n + one - 1n) / one
}
