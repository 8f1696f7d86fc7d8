import { hkdfSync, type KeyObject } from 'node:crypto'
import { ConfigError } from '../errors.ts'
import type { IdKey } from '../rules/challenge-id.ts'
import { privateKeyFrom } from './receipt-keys.ts'

/** Seals stored results. Its id is part of the sealed text, so that the right key is found after a rotation. */
export interface SealingKey {
  id: string
  key: Uint8Array
}

/** All lists newest first: the first key is used for new values, all are accepted for old ones. */
export interface SecretKeys {
  sealing: SealingKey[]
  ids: IdKey[]
  /** Private keys on P-256, which sign receipts. */
  receipts: KeyObject[]
  /** From which secrets of webhooks are derived that the seller did not give. */
  webhooks: Uint8Array[]
}

/** In characters, not in bytes of entropy: refuses `changeme`, and accepts 32 random bytes in hex or base64. */
export const MIN_SECRET_KEY_LENGTH = 32

/**
 * Derives all keys from `SVC_SECRET_KEY`, a comma-separated list. Each purpose has a key of its own, so that a leaked key says
 * nothing about the others. Ids are computed from the key and not from its place in the list, so they stay the same when a
 * new secret is put in front.
 */
export function parseSecretKeys(list: string, name = 'SVC_SECRET_KEY'): SecretKeys {
  const secrets = list.split(',').map((secret) => secret.trim())
  const faults = secrets.flatMap((secret, index) => {
    const where = secrets.length === 1 ? name : `${name} (key ${index + 1} of ${secrets.length})`
    if (secret.length < MIN_SECRET_KEY_LENGTH) {
      return `${where} has ${secret.length} characters; a key has at least ${MIN_SECRET_KEY_LENGTH}, for example the output of: openssl rand -hex 32`
    }
    if (secrets.indexOf(secret) < index) return `${where} is there twice; keep it once.`
    return []
  })
  if (faults.length > 0) throw new ConfigError(faults)

  const keys: SecretKeys = {
    sealing: secrets.map((secret) => ({
      id: derive(secret, 'sealing-id', 6).toString('base64url'),
      key: derive(secret, 'sealing', 32),
    })),
    ids: secrets.map((secret) => ({
      id: idOf(secret),
      key: derive(secret, 'challenge-id', 32),
    })),
    webhooks: secrets.map((secret) => derive(secret, 'webhooks', 32)),
    receipts: secrets.map((secret) =>
      privateKeyFrom((attempt) => derive(secret, `receipt-signing-${attempt}`, 32)),
    ),
  }
  const ids = keys.ids.map(({ id }) => id)
  // A challenge id has one byte for the key: with two keys under one byte, challenges of the second could not be verified.
  const clash = ids.findIndex((id, index) => ids.indexOf(id) < index)
  if (clash > 0) {
    throw new ConfigError([
      `${name} has two keys (${ids.indexOf(ids[clash]!) + 1} and ${clash + 1}) with the same key id; generate the newer one again, for example by: openssl rand -hex 32`,
    ])
  }
  return keys
}

/** Two such secrets cannot be in one list. */
export function haveSameId(secret: string, other: string): boolean {
  return idOf(secret) === idOf(other)
}

function idOf(secret: string): number {
  return derive(secret, 'challenge-key-id', 1).readUInt8()
}

function derive(secret: string, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `paystile:${purpose}:1`, bytes))
}
