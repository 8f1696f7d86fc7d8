import { z } from 'zod'
import { microToDollars, UintString } from '../protocol/amount.ts'
import { decodeJsonObject } from '../protocol/base64.ts'
import { AddressSchema, type Hex, sameHex } from '../protocol/hex.ts'
import { NETWORKS } from '../protocol/network.ts'
import { SCHEME, X402_VERSION } from '../protocol/payment.ts'
import { BuyerError } from './buyer-error.ts'

/** The facts of a chain and its USDC that a buyer needs before signing. */
export interface BuyerNetwork {
  /** CAIP-2 id, e.g. `eip155:8453`. */
  id: string
  chainId: number
  /** The token's address. */
  asset: Hex
  /** The token's EIP-712 domain. */
  domain: { name: string; version: string }
}

/** The networks that paystile knows, as a buyer sees them. */
export const BUYER_NETWORKS: readonly BuyerNetwork[] = NETWORKS.map(({ id, chainId, token }) => ({
  id,
  chainId,
  asset: token.address,
  domain: token.domain,
}))

/** An offer that passed every check. */
export interface Offer {
  network: BuyerNetwork
  amountMicro: bigint
  payTo: Hex
  maxTimeoutSeconds: number
  challengeId?: string
  /** The unchanged element of `accepts`: the gateway finds its challenge by it. */
  accepted: Record<string, unknown>
  /** `resource` of the 402, repeated as x402 v2 requires. */
  resource?: unknown
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
type Requirements = z.infer<typeof RequirementsSchema>

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
 * Picks the first way to pay that the buyer allows. The token and its signing domain come from the buyer's own
 * table: an offer could name a worthless look-alike, or a domain under which the signature means something else.
 */
export function readOffer(raw: RawOffer, networks: readonly BuyerNetwork[], maxMicro: bigint): Offer {
  const faults: BuyerError[] = []
  for (const accepted of raw.accepts) {
    const offer = checkRequirements(accepted, networks, maxMicro)
    if (!(offer instanceof BuyerError)) {
      return raw.resource === undefined ? offer : { ...offer, resource: raw.resource }
    }
    faults.push(offer)
  }
  // A price above the limit is the most useful of several faults: the rest of that offer was right.
  throw faults.find((fault) => fault.code === 'OVER_LIMIT') ?? faults[0]!
}

function checkRequirements(
  accepted: Record<string, unknown>,
  networks: readonly BuyerNetwork[],
  maxMicro: bigint,
): Offer | BuyerError {
  const parsed = RequirementsSchema.safeParse(accepted)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!
    return new BuyerError(
      'OFFER_UNREADABLE',
      `accepts[].${issue.path.join('.')} of the 402: ${issue.message}`,
    )
  }
  const wanted: Requirements = parsed.data
  const refuse = (message: string) => new BuyerError('OFFER_REFUSED', `${message}; nothing was signed`)
  if (wanted.scheme !== SCHEME)
    return refuse(`the seller asks for scheme "${wanted.scheme}"; this buyer pays "exact"`)
  const sameChain = networks.filter(({ id }) => id === wanted.network)
  if (sameChain.length === 0) {
    const known = [...new Set(networks.map(({ id }) => id))].join(', ')
    return refuse(`the seller wants payment on ${wanted.network}; this buyer allows ${known}`)
  }
  const network = sameChain.find(({ asset }) => sameHex(wanted.asset, asset))
  if (!network) {
    const known = sameChain.map(({ asset }) => asset).join(' or ')
    return refuse(`the seller asks for token ${wanted.asset}; USDC on ${wanted.network} is ${known}`)
  }
  const amountMicro = BigInt(wanted.amount)
  if (amountMicro > maxMicro) {
    const prices = `the price is ${microToDollars(amountMicro)} and the limit ${microToDollars(maxMicro)}`
    return new BuyerError('OVER_LIMIT', `${prices}; raise maxAmount to buy this. Nothing was signed`)
  }
  const challengeId = wanted.extra?.challengeId
  return {
    network,
    amountMicro,
    payTo: wanted.payTo,
    maxTimeoutSeconds: wanted.maxTimeoutSeconds ?? 300,
    ...(challengeId !== undefined && { challengeId }),
    accepted,
  }
}
