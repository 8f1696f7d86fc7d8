import { createHmac } from 'node:crypto'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { SecretKeys } from '../delivery/secret-keys.ts'
import { createWebhooks } from '../webhooks/create-webhooks.ts'
import { secretOf } from '../webhooks/sign-webhook.ts'

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
    secrets: secrets.length > 0 ? secrets : derivedSecrets(url, keys),
  }))
  return createWebhooks({ endpoints, allowHosts, userAgent: `paystile/${version}` })
}

/**
 * The secrets of an endpoint for which none is given: the same on every instance, and after a lost store. While the
 * secret key is replaced there is one of each key.
 */
export function derivedSecrets(url: string, { webhooks }: Pick<SecretKeys, 'webhooks'>): string[] {
  return webhooks.map((key) => secretOf(createHmac('sha256', key).update(url).digest()))
}
