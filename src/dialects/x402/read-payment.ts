import type { EchoedIds, OfferedTerms, Payment } from '../../engine/outcome.ts'
import type { Claim, Rail } from '../../ports.ts'
import { UintString } from '../../protocol/amount.ts'
import { sameHex } from '../../protocol/hex.ts'
import { nameFault } from '../../protocol/name-fault.ts'
import {
  type Accepted,
  AcceptedSchema,
  PAYMENT_IDENTIFIER,
  PaymentEnvelopeSchema,
} from '../../protocol/payment.ts'
import { microDollars } from '../../rules/token-amount.ts'

/** The parts of a rail that a dialect needs. */
export type ReadableRail = Pick<Rail, 'id' | 'network' | 'scheme'>

/** What is wrong, worded as the end of a sentence: "is malformed: …". It never repeats what was sent. */
export interface Fault {
  fault: string
}

/** Makes the function that turns x402's JSON into the engine's payment. */
export function createPaymentReader(rails: readonly ReadableRail[]): (value: unknown) => Payment | Fault {
  return (value) => {
    const parsed = PaymentEnvelopeSchema.safeParse(value)
    if (!parsed.success) return { fault: `is malformed: ${nameFault(parsed.error)}` }
    const { accepted = {}, network, scheme, payload, extensions } = parsed.data
    const named = railOf(rails, {
      network: accepted.network ?? network,
      scheme: accepted.scheme ?? scheme,
      asset: accepted.asset,
    })
    const { rail, read } = parseFor(rails, named, payload)
    if ('fault' in read) return { fault: `is malformed: ${read.fault}` }
    const { key, payer, signature } = rail.scheme.factsOf(read.signed)
    return {
      rail: rail.id,
      signed: read.signed,
      key,
      payer,
      signature,
      claims: [...read.claims, ...claimsOf(accepted), ...namedClaims({ network, scheme })],
      ...echoOf(accepted, rail),
      salt: accepted.extra?.salt ?? null,
      paymentId: extensions?.[PAYMENT_IDENTIFIER]?.info?.id ?? undefined,
    }
  }
}

/**
 * A payload of another scheme than it names is read as what it is: that it names the wrong one is then reported as a
 * disagreement with the terms, which says more than that it is malformed.
 */
function parseFor(rails: readonly ReadableRail[], named: ReadableRail, payload: unknown) {
  const read = named.scheme.parse(payload)
  if (!('fault' in read)) return { rail: named, read }
  for (const rail of rails) {
    if (rail.network.id !== named.network.id || rail.scheme.name === named.scheme.name) continue
    const other = rail.scheme.parse(payload)
    if (!('fault' in other)) return { rail, read: other }
  }
  return { rail: named, read }
}

/** The terms of an offer that a buyer repeats without paying. */
export function readTerms(
  rails: readonly ReadableRail[],
  value: unknown,
): Pick<OfferedTerms, 'echo' | 'echoedAmount'> | Fault {
  const parsed = AcceptedSchema.safeParse(value)
  if (!parsed.success) return { fault: `is malformed: ${nameFault(parsed.error)}` }
  return echoOf(parsed.data, railOf(rails, parsed.data))
}

/**
 * The rail that a payment names. A payment that names none, or one that is not offered, is read for the preferred
 * rail; what it says otherwise is then reported as a disagreement with the terms.
 */
function railOf(
  rails: readonly ReadableRail[],
  named: Pick<Accepted, 'network' | 'scheme' | 'asset'>,
): ReadableRail {
  const fits = (value: string | undefined, own: string) => value === undefined || sameHex(value, own)
  return (
    rails.find(({ network, scheme }) => {
      return (
        fits(named.network, network.id) &&
        fits(named.scheme, scheme.name) &&
        fits(named.asset, network.token.address)
      )
    }) ?? rails[0]!
  )
}

function echoOf({ extra, amount }: Accepted, { network }: ReadableRail) {
  const { planId, routeId, requestId, resourceId, challengeId } = extra ?? {}
  const echo: EchoedIds = { planId, routeId, requestId, resourceId, challengeId }
  const units = amount !== undefined && UintString.safeParse(amount).success ? amount : undefined
  return { echo, echoedAmount: units && microDollars(network.token, units) }
}

function claimsOf({ amount, payTo, network, asset, scheme }: Accepted): Claim[] {
  const claims = { amount, payTo, network, asset, scheme }
  return Object.entries(claims).flatMap(([about, value]) =>
    value === undefined ? [] : [{ about: about as Claim['about'], field: `accepted.${about}`, value }],
  )
}

function namedClaims(named: { network: string | undefined; scheme: string | undefined }): Claim[] {
  return Object.entries(named).flatMap(([about, value]) =>
    value === undefined ? [] : [{ about: about as Claim['about'], field: about, value }],
  )
}
