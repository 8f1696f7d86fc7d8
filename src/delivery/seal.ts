import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { SealingKey } from './secret-keys.ts'

export interface Seal {
  /** Encrypts JSON for storage under this challenge. */
  seal(value: unknown, challengeId: string): string
  /** `undefined` if no key opens it, or if it was changed or sealed for another challenge. */
  open(sealed: string, challengeId: string): unknown
}

const VERSION = 's1'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * AES-256-GCM over JSON: `s1.<key id>.<base64url of iv, ciphertext, tag>`. The challengeId is authenticated with it, so that
 * a copy in the row of another buyer cannot be opened.
 *
 * @example
 * import { parseSecretKeys } from './secret-keys.ts'
 *
 * const { seal, open } = createSeal(parseSecretKeys('32 random bytes, as base64').sealing)
 * open(seal({ accessToken: 'a.b.c' }, 'challenge-1'), 'challenge-1') // { accessToken: 'a.b.c' }
 */
export function createSeal(keys: readonly SealingKey[]): Seal {
  const newest = keys[0]
  if (!newest) throw new Error('createSeal needs at least one key')

  return {
    seal(value, challengeId) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', newest.key, iv, { authTagLength: TAG_BYTES })
      cipher.setAAD(associated(newest.id, challengeId))
      const body = Buffer.concat([
        iv,
        cipher.update(JSON.stringify(value), 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ])
      return `${VERSION}.${newest.id}.${body.toString('base64url')}`
    },

    open(sealed, challengeId) {
      const [version, keyId, text, ...rest] = sealed.split('.')
      const key = keys.find(({ id }) => id === keyId)
      if (version !== VERSION || !key || text === undefined || rest.length > 0) return undefined
      const body = Buffer.from(text, 'base64url')
      if (body.length < IV_BYTES + TAG_BYTES) return undefined
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.key, body.subarray(0, IV_BYTES), {
          authTagLength: TAG_BYTES,
        })
        decipher.setAAD(associated(key.id, challengeId))
        decipher.setAuthTag(body.subarray(-TAG_BYTES))
        const plain = Buffer.concat([decipher.update(body.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
        return JSON.parse(plain.toString('utf8')) as unknown
      } catch {
        return undefined
      }
    },
  }
}

function associated(keyId: string, challengeId: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, keyId, challengeId]))
}
