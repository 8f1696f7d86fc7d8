import { hkdfSync } from 'node:crypto'
import { ConfigError } from '../errors.ts'
import type { IdKey } from '../rules/challenge-id.ts'

/** Seals results at rest. The id travels in the sealed text, so that a rotated list finds the right key. */
export interface SealingKey {
  id: string
  key: Uint8Array
}

/** Both lists newest first: the first key is used, all of them are understood. */
export interface SecretKeys {
  sealing: SealingKey[]
  ids: IdKey[]
}

/** Characters, not bytes of entropy: it stops `changeme`, and 32 random bytes pass in hex and in base64. */
export const MIN_SECRET_KEY_LENGTH = 32

/**
 * Derives all keys from `SVC_SECRET_KEY`, a comma-separated list. One secret serves several purposes, each with a
 * key of its own: what leaks from one says nothing of the other. Ids come from the key itself, not from its place in
 * the list, so a rotation that puts a new key in front keeps the old ids.
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
      id: derive(secret, 'challenge-key-id', 1).readUInt8(),
      key: derive(secret, 'challenge-id', 32),
    })),
  }
  const ids = keys.ids.map(({ id }) => id)
  // A challenge id has one byte for the key: two keys under one byte would make the second's challenges unprovable.
  const clash = ids.findIndex((id, index) => ids.indexOf(id) < index)
  if (clash > 0) {
    throw new ConfigError([
      `${name} has two keys (${ids.indexOf(ids[clash]!) + 1} and ${clash + 1}) with the same key id; generate the newer one again, for example by: openssl rand -hex 32`,
    ])
  }
  return keys
}

function derive(secret: string, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `paystile:${purpose}:1`, bytes))
}
