import { timingSafeEqual } from 'node:crypto'
import type { Transport } from '../facts.ts'
import { createMac } from './sha256.ts'
import type { Terms } from './terms.ts'

/**
 * A challenge lives in its id until something happens to it:
 * `<transport>-` + base64url of key id (1 byte), expiry in seconds (5), random (12), HMAC-SHA256/128 (16) over
 * these and the terms. An unpaid request therefore stores nothing, and a forged id cannot pass.
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

/** Where every id is put together: none outlives its making. */
const draft = Buffer.alloc(HEAD_BYTES + MAC_BYTES)
const draftHead = draft.subarray(0, HEAD_BYTES)

const macs = new WeakMap<Uint8Array, ReturnType<typeof createMac>>()

/** In hex. */
function macOf(key: Uint8Array, transport: Transport, head: Uint8Array, terms: Terms): string {
  let mac = macs.get(key)
  if (!mac) {
    mac = createMac(key)
    macs.set(key, mac)
  }
  const text =
    'paystile:challenge:2' +
    sized(transport) +
    sized(terms.kind) +
    sized(terms.itemId) +
    sized(terms.resourceId) +
    sized(terms.resourceHash) +
    sized(terms.amount) +
    sized(terms.asset) +
    sized(terms.network) +
    sized(terms.payTo) +
    sized(terms.requestId)
  return mac(head, text).slice(0, 2 * MAC_BYTES)
}

/** With its length before it, no field can run into the next: as safe as JSON here, and a quarter of its time. */
const sized = (field: string): string => `${field.length}:${field}`

export function makeChallengeId(
  key: IdKey,
  transport: Transport,
  expiresAtMs: number,
  /** {@link CHALLENGE_RANDOM_BYTES} of it. */
  random: Uint8Array,
  terms: Terms,
): string {
  draft.writeUInt8(key.id, 0)
  draft.writeUIntBE(Math.floor(expiresAtMs / 1000), 1, 5)
  draft.set(random, 6)
  draft.write(macOf(key.key, transport, draftHead, terms), HEAD_BYTES, 'hex')
  return `${transport}-${draft.toString('base64url')}`
}

/** Splits an id without judging it; undefined when it cannot be one of ours. */
export function parseChallengeId(challengeId: string): ParsedChallengeId | undefined {
  const match = /^(http|a2a|mcp)-([A-Za-z0-9_-]{46})$/.exec(challengeId)
  if (!match) return undefined
  const bytes = Buffer.from(match[2]!, 'base64url')
  // base64url has spare bits at the end: only the canonical spelling counts, or one id would have several names.
  if (bytes.length !== HEAD_BYTES + MAC_BYTES || bytes.toString('base64url') !== match[2]) return undefined
  return {
    transport: match[1] as Transport,
    keyId: bytes.readUInt8(0),
    expiresAt: bytes.readUIntBE(1, 5) * 1000,
    head: bytes.subarray(0, HEAD_BYTES),
    mac: bytes.subarray(HEAD_BYTES),
  }
}

/** Did we issue this id for exactly these terms? */
export function provesTerms(keys: readonly IdKey[], parsed: ParsedChallengeId, terms: Terms): boolean {
  const key = keys.find((candidate) => candidate.id === parsed.keyId)
  return (
    key !== undefined &&
    timingSafeEqual(Buffer.from(macOf(key.key, parsed.transport, parsed.head, terms), 'hex'), parsed.mac)
  )
}
