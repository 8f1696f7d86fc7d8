import { keccak256, stringToBytes } from 'viem/utils'
import { z } from 'zod'
import type { EchoedIds, Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { Claim } from '../../ports.ts'
import { UintString } from '../../protocol/amount.ts'
import { decodeJsonObject } from '../../protocol/base64.ts'
import { IdString } from '../../protocol/catalog.ts'
import { sameHex } from '../../protocol/hex.ts'
import { nameFault } from '../../protocol/name-fault.ts'
import { SCHEME } from '../../protocol/payment.ts'
import { parseChallengeId } from '../../rules/challenge-id.ts'
import { microDollars } from '../../rules/token-amount.ts'
import type { ReadableRail } from '../x402/read-payment.ts'
import { MalformedCredential } from './malformed-credential.ts'
import { INTENT, MAX_EXPIRY_MS, METHOD } from './words.ts'

/** Instances may disagree so far about the time. */
const CLOCK_SKEW_MS = 5 * 60_000

const Text = z.string().max(4096)

/** Of every credential: what decides how the rest of it looks. */
const MethodSchema = z.object({
  challenge: z.object({ method: z.string().max(80), intent: z.string().max(80) }),
})

/** Our challenge as the buyer repeats it, and the signed payment. Over HTTP `request` is base64url, over MCP it is JSON. */
const CredentialSchema = z.object({
  challenge: z.object({
    id: z.string().max(400),
    realm: Text,
    expires: z.string().max(40),
    request: z.union([Text, z.record(z.string(), z.unknown())]),
    opaque: Text.optional(),
  }),
  payload: z.object({
    type: z.literal('authorization', { error: 'must be "authorization"' }),
    from: Text,
    to: Text,
    value: Text,
    validAfter: Text,
    validBefore: Text,
    nonce: Text,
    signature: Text,
  }),
  source: z.string().max(120).optional(),
})

/** Strict: whatever else it would ask was not asked by us. */
const RequestSchema = z.strictObject({
  amount: UintString,
  currency: z.string().max(80),
  recipient: z.string().max(80),
  methodDetails: z.strictObject({
    chainId: z.int(),
    credentialTypes: z.tuple([z.literal('authorization')]),
    decimals: z.int(),
  }),
})

const OpaqueSchema = z.object({
  planId: IdString.optional(),
  routeId: IdString.optional(),
  requestId: IdString.optional(),
  resourceId: IdString.optional(),
})

const SOURCE = /^did:pkh:eip155:(\d{1,15}):(0x[0-9a-fA-F]{40})$/

/** The EIP-3009 nonce of a challenge: one id can be charged once, whatever happens. */
export const pinnedNonce = (id: string, realm: string): string => keccak256(stringToBytes(id + realm))

/** Makes the function that turns a credential, as JSON, into the engine's payment. No message repeats what was sent. */
export function createCredentialReader(rails: readonly ReadableRail[], realm: string, now: () => number) {
  return (value: unknown): Payment | GatewayError => {
    const named = MethodSchema.safeParse(value)
    if (!named.success) return malformed(nameFault(named.error))
    const { method, intent } = named.data.challenge
    if (method !== METHOD || intent !== INTENT) {
      return new GatewayError(
        'METHOD_UNSUPPORTED',
        `challenge.method and intent must be ${METHOD} and ${INTENT}`,
      )
    }
    const parsed = CredentialSchema.safeParse(value)
    if (!parsed.success) return malformed(nameFault(parsed.error))
    const { challenge, payload, source } = parsed.data
    if (challenge.realm !== realm) return notOurs('challenge.realm is that of another seller')
    const request = readRequest(challenge.request)
    if ('fault' in request) return malformed(request.fault)
    const echoed = readOpaque(challenge.opaque)
    if ('fault' in echoed) return malformed(echoed.fault)
    const [challengeId, salt] = splitId(challenge.id)
    const id = parseChallengeId(challengeId)
    if (!id || salt === '') return notOurs('challenge.id was not issued by this gateway')
    const until = Date.parse(challenge.expires)
    if (!Number.isFinite(until)) return malformed('challenge.expires is no date')
    if (until > (id.expiresAt > now() ? id.expiresAt : now() + MAX_EXPIRY_MS + CLOCK_SKEW_MS)) {
      return disproved('challenge.expires is later than was offered')
    }
    if (payload.validBefore !== String(Math.floor(until / 1000))) {
      return disproved('payload.validBefore is not challenge.expires in seconds')
    }
    if (!sameHex(payload.nonce, pinnedNonce(challenge.id, realm))) {
      return disproved('payload.nonce is not keccak256 of challenge.id and realm')
    }
    const rail = railOf(rails, request)
    if (request.methodDetails.decimals !== rail.network.token.decimals) {
      return disproved('challenge.request.methodDetails.decimals is not what was offered')
    }
    const { type: _type, signature, ...authorization } = payload
    const read = rail.scheme.parse({ signature, authorization })
    if ('fault' in read) return malformed(read.fault)
    const paidBy = source === undefined ? undefined : SOURCE.exec(source)
    if (paidBy === null) return malformed('source must be did:pkh:eip155:<chain id>:<address>')
    const facts = rail.scheme.factsOf(read.signed)
    return {
      rail: rail.id,
      signed: read.signed,
      key: facts.key,
      payer: facts.payer,
      signature: facts.signature,
      claims: [...read.claims, ...claimsOf(request), ...(paidBy ? sourceClaims(paidBy) : [])],
      echo: { ...echoed.ids, challengeId },
      echoedAmount: microDollars(rail.network.token, request.amount),
      salt,
    }
  }
}

type Asked = z.infer<typeof RequestSchema>

function readRequest(given: string | Record<string, unknown>): Asked | { fault: string } {
  const value = typeof given === 'string' ? decodeJsonObject(given) : given
  if (!value) return { fault: 'challenge.request is not the base64url encoding of a JSON object' }
  const parsed = RequestSchema.safeParse(value)
  return parsed.success ? parsed.data : { fault: `challenge.request: ${nameFault(parsed.error)}` }
}

function readOpaque(given: string | undefined): { ids: EchoedIds } | { fault: string } {
  if (given === undefined) return { ids: {} }
  const parsed = OpaqueSchema.safeParse(decodeJsonObject(given))
  return parsed.success ? { ids: parsed.data } : { fault: 'challenge.opaque is not as it was offered' }
}

/** The challenge's own id ends at the first dot; all that follows is the salt. */
function splitId(id: string): [string, string] {
  const dot = id.indexOf('.')
  return dot === -1 ? [id, ''] : [id.slice(0, dot), id.slice(dot + 1)]
}

/** A chain or token that is not offered is read for the preferred rail, and reported as a disagreement with the terms. */
function railOf(rails: readonly ReadableRail[], { methodDetails, currency }: Asked): ReadableRail {
  const exact = rails.filter(({ scheme }) => scheme.name === SCHEME)
  return (
    exact.find(
      ({ network }) => network.chainId === methodDetails.chainId && sameHex(network.token.address, currency),
    ) ?? exact[0]!
  )
}

function claimsOf({ amount, recipient, currency, methodDetails }: Asked): Claim[] {
  return [
    { about: 'amount', field: 'challenge.request.amount', value: amount },
    { about: 'payTo', field: 'challenge.request.recipient', value: recipient },
    { about: 'asset', field: 'challenge.request.currency', value: currency },
    {
      about: 'network',
      field: 'challenge.request.methodDetails.chainId',
      value: `eip155:${methodDetails.chainId}`,
    },
  ]
}

const sourceClaims = ([, chainId, payer]: RegExpExecArray): Claim[] => [
  { about: 'network', field: 'source', value: `eip155:${chainId}` },
  { about: 'payer', field: 'source', value: payer! },
]

const malformed = (fault: string) => new MalformedCredential(`the Payment credential is malformed: ${fault}`)
const notOurs = (fault: string) => new GatewayError('CHALLENGE_NOT_FOUND', `the Payment credential: ${fault}`)
const disproved = (fault: string) => new GatewayError('INVALID_PROOF', `the Payment credential: ${fault}`)
