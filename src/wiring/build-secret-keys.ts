import { randomBytes } from 'node:crypto'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { parseSecretKeys, type SecretKeys } from '../delivery/secret-keys.ts'

/**
 * The keys that sign challenge ids and seal results: configured, or created once beside the store, or as short-lived
 * as a memory store.
 */
export async function buildSecretKeys({ secretKey }: ResolvedConfig): Promise<SecretKeys> {
  switch (secretKey.kind) {
    case 'given':
      return parseSecretKeys(secretKey.list)
    case 'generated':
      return parseSecretKeys(
        (await import('../delivery/generate-secret.ts')).readOrGenerateSecret(secretKey.dataDir),
      )
    case 'ephemeral':
      return parseSecretKeys(randomBytes(32).toString('hex'))
  }
}
