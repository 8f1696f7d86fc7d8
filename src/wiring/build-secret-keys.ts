import { randomBytes } from 'node:crypto'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { parseSecretKeys, type SecretKeys } from '../delivery/secret-keys.ts'

/** The keys that prove challenges and seal results: given, made once beside the store, or as short-lived as it. */
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
