import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { SecretKeys } from '../delivery/secret-keys.ts'
import { createWebhooks } from '../webhooks/create-webhooks.ts'
import { deriveSecrets } from '../webhooks/derive-secrets.ts'

/** Undefined: no endpoints are configured. */
export function buildWebhooks(
  { webhooks, webhookAllowHosts: allowHosts }: ResolvedConfig,
  keys: SecretKeys,
  version: string,
) {
  if (webhooks.length === 0) return undefined
  const endpoints = webhooks.map(({ url, secrets, events }) => ({
    url,
    events,
    secrets: secrets.length > 0 ? secrets : deriveSecrets(url, keys.webhooks),
  }))
  return createWebhooks({ endpoints, allowHosts, userAgent: `paystile/${version}` })
}
