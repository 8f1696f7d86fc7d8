import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readOrGenerateSecret } from '../delivery/generate-secret.ts'
import { parseSecretKeys } from '../delivery/secret-keys.ts'
import { ConfigError } from '../errors.ts'
import { deriveSecrets } from '../webhooks/derive-secrets.ts'
import { endpointId } from '../webhooks/endpoint-id.ts'
import { complete, load } from './load.ts'
import type { Report, Terminal } from './terminal.ts'

/** The secrets that follow from the secret key, for endpoints that were given none. */
export async function showSecrets(terminal: Terminal): Promise<Report> {
  const { webhooks, secretKey } = complete(await load(terminal))
  if (webhooks.length === 0) throw new ConfigError(['No webhooks are configured: set WEBHOOK_URL.'])
  const without = webhooks.filter(({ secrets }) => secrets.length === 0)
  if (without.length === 0) return { lines: ['WEBHOOK_SECRET has them all.'], json: { secrets: [] } }
  if (secretKey.kind === 'ephemeral')
    throw new ConfigError(['A memory store has a new secret at each start: set WEBHOOK_SECRET.'])
  // In a mistyped folder another key would be made, and its secrets would fit no signature.
  if (secretKey.kind === 'generated' && !existsSync(join(secretKey.dataDir, 'secret-key')))
    throw new ConfigError([
      `${join(secretKey.dataDir, 'secret-key')} is not there: set DATA_DIR to the folder of your server, or start it once first.`,
    ])
  const list = secretKey.kind === 'given' ? secretKey.list : readOrGenerateSecret(secretKey.dataDir)
  const { webhooks: keys } = parseSecretKeys(list)
  const secrets = without.map(({ url }) => ({
    ...{ endpoint: endpointId(url), host: new URL(url).host },
    secrets: deriveSecrets(url, keys),
  }))
  return {
    lines: secrets.map(({ endpoint, host, secrets: own }) => `${host}  ${endpoint}  ${own.join('  ')}`),
    json: { secrets },
  }
}
