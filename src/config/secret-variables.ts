import { networkVariable } from './network-variables.ts'

/**
 * Variables whose values are never shown once they are set. Some are URLs: those of databases contain passwords, those of
 * RPCs and webhooks contain API keys.
 */
export const SECRET_VARIABLES: Record<string, 'wallet-key' | 'url' | 'text'> = {
  GAS_WALLET_PRIVATE_KEY: 'wallet-key',
  REFUND_WALLET_PRIVATE_KEY: 'wallet-key',
  RPC_URL: 'url',
  DATABASE_URL: 'url',
  REDIS_URL: 'url',
  ALERT_WEBHOOK_URL: 'url',
  WEBHOOK_URL: 'url',
  WEBHOOK_SECRET: 'text',
  // It holds the RPC URLs of the networks that it describes.
  NETWORKS: 'text',
  CDP_API_KEY_SECRET: 'text',
  SVC_SECRET_KEY: 'text',
  RECEIPT_PRIVATE_KEY: 'text',
  TOKEN_SECRET: 'text',
  TOKEN_PRIVATE_KEY: 'text',
  ISSUE_TOKEN_API_SECRET: 'text',
  PROXY_SECRET: 'text',
  ADMIN_TOKEN: 'text',
  METRICS_TOKEN: 'text',
  POSTGRES_PASSWORD: 'text',
  REDIS_PASSWORD: 'text',
}

/** The kind of a secret; undefined if it is none. Variables of single networks are as secret as those of all. */
export function secretKind(name: string): 'wallet-key' | 'url' | 'text' | undefined {
  const plain = networkVariable(name)?.plain ?? name
  return Object.hasOwn(SECRET_VARIABLES, plain) ? SECRET_VARIABLES[plain] : undefined
}

export function isSecret(name: string): boolean {
  return secretKind(name) !== undefined
}
