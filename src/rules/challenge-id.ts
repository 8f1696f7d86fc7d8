import { timingSafeEqual } from 'node:crypto'
import type { Transport } from '../facts.ts'
import { createMac } from './sha256.ts'
import type { RailTerms, Terms } from './terms.ts'

/**
 * A challenge exists only in its id until something happens to it: `<transport>-` + base64url of key id (1 byte),
 * expiry in seconds (5), random (12), HMAC-SHA256/128 (16) over these and the terms. So an unpaid request stores
 * nothing, and a forged id is recognised.
 */
const RANDOM_BYTES = 12
const HEAD_BYTES = 1 + 5 + RANDOM_BYTES
const MAC_BYTES = 16
export const CHALLENGE_RANDOM_BYTES = RANDOM_BYTES

/** Keys by id, newest first: the first one signs, all of them verify. */
export interface IdKey {
  id: number
  key: Uint8Array
}

export interface ParsedChallengeId {
  transport: Transport
  keyId: number
  expiresAt: number
  head: Buffer
  mac: Buffer
}

/** One buffer is used for every id: it is filled and encoded without an await in between. */
const draft = Buffer.alloc(HEAD_BYTES + MAC_BYTES)
const draftHead = draft.subarray(0, HEAD_BYTES)

const macs = new WeakMap<Uint8Array, ReturnType<typeof createMac>>()

/** In hex. */
function macOf(key: Uint8Array, head: Uint8Array, text: string): string {
  let mac = macs.get(key)
  if (!mac) {
    mac = createMac(key)
    macs.set(key, mac)
  }
  return mac(head, text).slice(0, 2 * MAC_BYTES)
}

function provenText(transport: Transport, terms: Terms): string {
  return (
    'paystile:challenge:3' +
    sized(transport) +
    sized(terms.kind) +
    sized(terms.itemId) +
    sized(terms.resourceId) +
    sized(terms.resourceHash) +
    sized(terms.amount) +
    sized(terms.requestId) +
    // Absent where there are none, as in the ids of before credits were named.
    (terms.credits > 0 ? sized(String(terms.credits)) : '')
  )
}

/** What ids proved before a challenge could be paid on several rails. Such ids are valid until they expire. */
function earlierText(transport: Transport, terms: Terms, rail: RailTerms): string {
  return (
    'paystile:challenge:2' +
    sized(transport) +
    sized(terms.kind) +
    sized(terms.itemId) +
    sized(terms.resourceId) +
    sized(terms.resourceHash) +
    sized(terms.amount) +
    sized(rail.asset) +
    sized(rail.network) +
    sized(rail.payTo) +
    sized(terms.requestId)
  )
}

/**
 * Each field is preceded by its length, so that none can run into the next. As safe as JSON here, in a quarter of the
 * time.
 */
const sized = (field: string): string => `${field.length}:${field}`

export function makeChallengeId(
  key: IdKey,
  transport: Transport,
  expiresAtMs: number,
  /** {@link CHALLENGE_RANDOM_BYTES} random bytes. */
  random: Uint8Array,
  terms: Terms,
): string {
  draft.writeUInt8(key.id, 0)
  draft.writeUIntBE(Math.floor(expiresAtMs / 1000), 1, 5)
  draft.set(random, 6)
  draft.write(macOf(key.key, draftHead, provenText(transport, terms)), HEAD_BYTES, 'hex')
  return `${transport}-${draft.toString('base64url')}`
}

/**
 * The requestId of an offer whose buyer named none. It follows from the id, so that a payment that repeats the id alone
 * finds it.
 */
export function requestIdOf(random: Uint8Array, expiresAtMs: number): string {
  const bytes = Buffer.alloc(RANDOM_BYTES + 4)
  bytes.set(random)
  bytes.writeUInt32BE(Math.floor(expiresAtMs / 1000) % 2 ** 32, RANDOM_BYTES)
  return `req-${bytes.toString('base64url')}`
}

/** The same for an id that a buyer repeats. */
export function requestIdOfOffer({ head, expiresAt }: ParsedChallengeId): string {
  return requestIdOf(head.subarray(HEAD_BYTES - RANDOM_BYTES), expiresAt)
}

/** Splits an id without verifying it; undefined if it cannot be one of ours. */
export function parseChallengeId(challengeId: string): ParsedChallengeId | undefined {
  const match = /^(http|a2a|mcp)-([A-Za-z0-9_-]{46})$/.exec(challengeId)
  if (!match) return undefined
  const bytes = Buffer.from(match[2]!, 'base64url')
  // base64url has spare bits at the end. Only the canonical spelling is accepted, or one id would have several
  // spellings.
  if (bytes.length !== HEAD_BYTES + MAC_BYTES || bytes.toString('base64url') !== match[2]) return undefined
  return {
    transport: match[1] as Transport,
    keyId: bytes.readUInt8(0),
    expiresAt: bytes.readUIntBE(1, 5) * 1000,
    head: bytes.subarray(0, HEAD_BYTES),
    mac: bytes.subarray(HEAD_BYTES),
  }
}

/** Did we issue this id for exactly these terms? `rails` are those that an id of the earlier format may name. */
export function provesTerms(
  keys: readonly IdKey[],
  { keyId, transport, head, mac }: ParsedChallengeId,
  terms: Terms,
  rails: readonly RailTerms[],
): boolean {
  const key = keys.find((candidate) => candidate.id === keyId)
  if (!key) return false
  const proves = (text: string): boolean =>
    timingSafeEqual(Buffer.from(macOf(key.key, head, text), 'hex'), mac)
  return (
    proves(provenText(transport, terms)) || rails.some((rail) => proves(earlierText(transport, terms, rail)))
  )
}
