import { z } from 'zod'
import { microToDollars, UintString } from '../protocol/amount.ts'
import { decodeJsonObject } from '../protocol/base64.ts'
import { AddressSchema, type Hex, sameHex } from '../protocol/hex.ts'
import { SCHEME, X402_VERSION } from '../protocol/payment.ts'
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
 * among them. The token and its signing domain come from the buyer's own table: an offer could name a worthless
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
    const read = checkRequirements(accepted, allowed.networks, maxMicro)
    if ('code' in read) unfit.push(read)
    else if (testMoney !== undefined && isTestnet(read.network.id) !== testMoney) unfit.push(otherMoney(read))
    else fitting.push(raw.resource === undefined ? read : { ...read, resource: raw.resource })
  }
  const preference = ({ network }: Offer) => allowed.networks.indexOf(network)
  if (allowed.named) fitting.sort((a, b) => preference(a) - preference(b))
  return { fitting, unfit }
}

function otherMoney({ network: { id } }: Offer): Unfit {
  const kind = isTestnet(id) ? 'test' : 'real'
  const why = `${networkName(id)} takes ${kind} money and the first offer does not; name it in networks to pay there`
  return { code: 'OFFER_REFUSED', why, message: `${why}; nothing was signed` }
}

function checkRequirements(
  accepted: Record<string, unknown>,
  networks: readonly BuyerNetwork[],
  maxMicro: bigint,
): Offer | Unfit {
  const parsed = RequirementsSchema.safeParse(accepted)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!
    const message = `accepts[].${issue.path.join('.')} of the 402: ${issue.message}`
    return { code: 'OFFER_UNREADABLE', why: message, message }
  }
  const wanted = parsed.data
  const name = networkName(wanted.network)
  const refuse = (why: string, message: string): Unfit => ({
    code: 'OFFER_REFUSED',
    why,
    message: `${message}; nothing was signed`,
  })
  if (wanted.scheme !== SCHEME) {
    return refuse(
      `${name} by scheme "${wanted.scheme.slice(0, 64)}", and this buyer pays "exact"`,
      `the seller asks for scheme "${wanted.scheme}"; this buyer pays "exact"`,
    )
  }
  const sameChain = networks.filter(({ id }) => id === wanted.network)
  if (sameChain.length === 0) {
    const known = [...new Set(networks.map(({ id }) => id))].join(', ')
    return refuse(
      `${name} is not among the networks that this buyer allows`,
      `the seller wants payment on ${wanted.network}; this buyer allows ${known}`,
    )
  }
  const network = sameChain.find(({ asset }) => sameHex(wanted.asset, asset))
  if (!network) {
    const known = sameChain.map(({ asset }) => asset).join(' or ')
    return refuse(
      `token ${wanted.asset.slice(0, 64)} on ${name} is not known; USDC there is ${known}`,
      `the seller asks for token ${wanted.asset}; USDC on ${wanted.network} is ${known}`,
    )
  }
  const amountUnits = BigInt(wanted.amount)
  const amountMicro = inMicro(amountUnits, decimalsOf(network))
  if (amountMicro > maxMicro) {
    const [price, limit] = [microToDollars(amountMicro), microToDollars(maxMicro)]
    return {
      code: 'OVER_LIMIT',
      why: `the price on ${name} is ${price} and the limit ${limit}`,
      message: `the price is ${price} and the limit ${limit}; raise maxAmount to buy this. Nothing was signed`,
    }
  }
  const challengeId = wanted.extra?.challengeId
  return {
    network,
    amountMicro,
    amountUnits,
    payTo: wanted.payTo,
    maxTimeoutSeconds: wanted.maxTimeoutSeconds ?? 300,
    ...(challengeId !== undefined && { challengeId }),
    accepted,
  }
}

/** Millionths, rounded up: a limit must never be passed by a fraction. */
function inMicro(units: bigint, decimals: number): bigint {
  const one = 10n ** BigInt(decimals)
  return (units * 1_000_000n + one - 1n) / one
}
