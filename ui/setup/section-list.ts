import type { Setup } from '../setup/use-setup.ts'
import { ofOneNetwork } from './networks.ts'

/** The sections in order, with their settings, so that faults can link to them. */
export const SECTIONS = [
  {
    id: 'seller',
    title: 'Seller',
    names: [
      'AGENT_NAME',
      'AGENT_DESCRIPTION',
      'BASE_URL',
      'CONTACT_EMAIL',
      'PROVIDER_NAME',
      'PROVIDER_URL',
      'AGENT_VERSION',
      'SHOP_WINDOW',
      'SHOP_NAME',
      'SHOP_LOGO_URL',
      'SHOP_COLOR',
    ],
  },
  {
    id: 'wallet',
    title: 'Wallet and network',
    names: [
      'SVC_NETWORK',
      'NETWORKS',
      'MAX_GAS_SHARE',
      'SVC_WALLET_ADDRESS',
      'RPC_URL',
      'EXPLORER_TX_URL',
      'CONFIRMATIONS',
    ],
  },
  { id: 'plans', title: 'Plans', names: ['PLANS'] },
  {
    id: 'routes',
    title: 'Routes and backend',
    names: ['ROUTES', 'PROXY_TO_BASE_URL', 'PROXY_SECRET', 'PROXY_TIMEOUT_SECONDS', 'MAX_RESOURCE_BYTES'],
  },
  {
    id: 'credentials',
    title: 'Credentials',
    names: [
      'TOKEN_SECRET',
      'TOKEN_PRIVATE_KEY',
      'ISSUE_TOKEN_API',
      'ISSUE_TOKEN_API_SECRET',
      'TOKEN_TTL_SECONDS',
      'RESOURCE_ENDPOINT',
    ],
  },
  {
    id: 'settlement',
    title: 'Settlement',
    names: [
      'FACILITATOR_URL',
      'CDP_API_KEY_ID',
      'CDP_API_KEY_SECRET',
      'GAS_WALLET_PRIVATE_KEY',
      'SETTLER_CONTRACT',
      'ALLOWED_WALLET_FACTORIES',
      'SETTLE_WAIT_SECONDS',
      'POLL_INTERVAL_MS',
      'CHALLENGE_TTL_SECONDS',
    ],
  },
  {
    id: 'refunds',
    title: 'Refunds',
    names: ['REFUND_WALLET_PRIVATE_KEY', 'REFUND_MIN_AGE_SECONDS', 'REFUND_INTERVAL_SECONDS'],
  },
  {
    id: 'storage',
    title: 'Storage',
    names: ['DATA_DIR', 'DATABASE_URL', 'REDIS_URL', 'SVC_SECRET_KEY', 'RETENTION_DAYS'],
  },
  {
    id: 'transports',
    title: 'Agents and documents',
    names: [
      'A2A_ENABLED',
      'A2A_STREAMING',
      'A2A_TRANSFER_PROOFS',
      'MCP_ENABLED',
      'MCP_ROUTES',
      'DOCUMENTS_ENABLED',
    ],
  },
  {
    id: 'operations',
    title: 'Operations',
    names: [
      'ADMIN_TOKEN',
      'ALERT_WEBHOOK_URL',
      'WEBHOOK_URL',
      'WEBHOOK_SECRET',
      'WEBHOOK_ALLOW_HOSTS',
      'LOG_LEVEL',
      'TRUST_PROXY',
      'RATE_LIMIT_PER_MINUTE',
      'PAYER_FAILURES_PER_MINUTE',
      'PAYER_UNDELIVERED_PER_DAY',
      'PAYER_LOST_GAS_PER_DAY',
      'LOST_GAS_PER_DAY',
      'MAX_BODY_BYTES',
      'REQUEST_TIMEOUT_SECONDS',
    ],
  },
] as const

export type SectionId = (typeof SECTIONS)[number]['id']
export type SectionStatus = 'error' | 'missing' | 'warn' | 'fine'

/** Where a setting stands. Those of single networks stand beside their network. */
export function sectionOf(name: string | null): SectionId | undefined {
  if (name === null) return undefined
  if (ofOneNetwork(name)) return 'wallet'
  return SECTIONS.find(({ names }) => (names as readonly string[]).includes(name))?.id
}

/** The worst level of any setting in a section. */
export function statusOf(id: SectionId, { answer }: Pick<Setup, 'answer'>): SectionStatus {
  if (!answer) return 'fine'
  const isHere = (name: string | null): boolean => sectionOf(name) === id
  const levels = Object.entries(answer.fields).map(([name, { level }]) => (isHere(name) ? level : undefined))
  if (answer.faults.some(({ name }) => isHere(name))) return 'error'
  if (levels.includes('error')) return 'error'
  if (answer.missing.some(({ name }) => isHere(name))) return 'missing'
  return levels.includes('warn') ? 'warn' : 'fine'
}
