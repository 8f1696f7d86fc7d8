import { z } from 'zod'
import type { WalletProof } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { decodedBytes, decodeJsonObject } from '../../protocol/base64.ts'
import { MINUTE_MS } from '../../protocol/duration.ts'
import type { Address } from '../../protocol/hex.ts'
import { SignatureSchema } from '../../protocol/hex.ts'
import { nameFault } from '../../protocol/name-fault.ts'
import { signInText } from '../../protocol/sign-in-text.ts'

/** The request header, and the key in MCP's `_meta`, that carry a proof; also the extension's name. */
export const SIGN_IN_WITH_X = 'sign-in-with-x'

const SIGN_AGAIN =
  'sign the info that extensions["sign-in-with-x"] of a new answer offers, as EIP-4361, and send it once'

/** How long after `issuedAt` a proof is good. */
export const PROOF_MS = 5 * MINUTE_MS
/** A client's clock, or that of another instance, may be ahead of ours by so much. */
const SKEW_MS = 5_000
/** More than any proof needs. */
const MAX_PROOF_BYTES = 8 * 1024

// One line of printable text each: a line break would let one text be read as two different sign-ins.
const line = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')
const time = z
  .string()
  .max(40)
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/, 'must be an ISO 8601 time')
  .refine((text) => !Number.isNaN(Date.parse(text)), 'must be an ISO 8601 time')

const ProofSchema = z.object({
  domain: line(255),
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x followed by 40 hex digits'),
  statement: line(1000).optional(),
  uri: line(2048),
  version: z.literal('1'),
  chainId: line(80),
  type: z.literal('eip191'),
  nonce: z.string().regex(/^[A-Za-z0-9]{8,128}$/, 'must be 8 to 128 letters and digits'),
  issuedAt: time,
  expirationTime: time.optional(),
  notBefore: time.optional(),
  requestId: line(200).optional(),
  resources: z.array(line(2048)).max(16).optional(),
  signature: SignatureSchema,
})

export interface ProofPlace {
  /** Of the configured base URL; what the request says of its host is never asked. */
  origin: string
  /** The endpoint's path, as it was called. */
  path: string
  /** CAIP-2. */
  networks: readonly string[]
  now: number
}

/** Base64 of a proof, as the header has it. Its content never enters a message. */
export function readProofHeader(header: string, place: ProofPlace): WalletProof | GatewayError {
  if (header.startsWith('{')) return malformed('is JSON; send the base64 encoding of it')
  // Fetch joins repeated headers with a comma, which base64 does not contain.
  if (header.includes(',')) return malformed('is given more than once; send exactly one')
  const bytes = decodedBytes(header)
  if (bytes > MAX_PROOF_BYTES)
    return malformed(`decodes to ${bytes} bytes; at most ${MAX_PROOF_BYTES} are read`)
  const value = decodeJsonObject(header)
  if (!value) return malformed('is not the base64 encoding of a JSON object')
  return readProof(value, place)
}

/** Reads a proof, and checks everything but the signature. */
export function readProof(value: unknown, place: ProofPlace): WalletProof | GatewayError {
  const parsed = ProofSchema.safeParse(value)
  if (!parsed.success) return malformed(`is no proof: ${nameFault(parsed.error)}`)
  const { data } = parsed
  const fault = placeFault(data, place) ?? timeFault(data, place.now)
  if (fault !== undefined) return refused(fault)
  return {
    account: data.address.toLowerCase() as Address,
    network: data.chainId,
    text: signInText(data),
    signature: data.signature,
    nonce: data.nonce,
    endsAt: Date.parse(data.issuedAt) + PROOF_MS,
  }
}

type Proof = z.infer<typeof ProofSchema>

function placeFault(
  { domain, uri, chainId }: Proof,
  { origin, path, networks }: ProofPlace,
): string | undefined {
  const host = origin.slice(origin.indexOf('://') + 3)
  if (domain !== host) return `it was signed for another domain; this is ${host}`
  const [place] = uri.split('?')
  if (place !== `${origin}${path}`)
    return `it was signed for another address; its uri must be ${origin}${path}`
  if (!networks.includes(chainId)) return `its chainId is none of ${networks.join(', ')}`
  return undefined
}

function timeFault({ issuedAt, expirationTime, notBefore }: Proof, now: number): string | undefined {
  const issued = Date.parse(issuedAt)
  if (issued > now + SKEW_MS) return 'its issuedAt is in the future; check the clock'
  if (now >= issued + PROOF_MS) return `it is older than ${PROOF_MS / MINUTE_MS} minutes; sign again`
  if (expirationTime !== undefined && now >= Date.parse(expirationTime)) return 'it has expired; sign again'
  if (notBefore !== undefined && Date.parse(notBefore) > now + SKEW_MS)
    return 'its notBefore is in the future'
  return undefined
}

const malformed = (fault: string): GatewayError =>
  new GatewayError('UNAUTHORIZED', `${SIGN_IN_WITH_X} ${fault}.`, { hint: SIGN_AGAIN })

const refused = (fault: string): GatewayError =>
  new GatewayError('UNAUTHORIZED', `The sign-in is refused: ${fault}.`, { hint: SIGN_AGAIN })
