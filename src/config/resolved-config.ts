import type { FetchResource, FetchResourceCredentials, Hooks, StoreChoice } from '../ports.ts'
import type { Plan, Route } from '../protocol/catalog.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { WebhookConfig } from './check-webhooks.ts'
import type { CreateAuthHeaders, GatewayOptions } from './options.ts'

export type SettlementConfig =
  | {
      kind: 'gas-wallet'
      privateKeys: [Hex, ...Hex[]]
      /** Batches go to the settler contract; otherwise to Multicall3. */
      settler?: true
    }
  | {
      kind: 'facilitator'
      url: string
      auth:
        | { kind: 'none' }
        | { kind: 'headers'; createAuthHeaders: CreateAuthHeaders }
        | { kind: 'cdp'; apiKeyId: string; apiKeySecret: string }
    }

export type SecretKeyConfig =
  | { kind: 'given'; list: string }
  /** Read from this folder, and generated there if it is missing. */
  | { kind: 'generated'; dataDir: string }
  /** Generated at each start, since the memory store forgets everything as well. */
  | { kind: 'ephemeral' }

export type CredentialConfig =
  | { kind: 'hs256'; secret: string }
  /** PEM blocks: the first signs, all verify. */
  | { kind: 'rs256'; pem: string }
  | { kind: 'callback'; fetchResourceCredentials: FetchResourceCredentials }
  | { kind: 'api'; url: string; secret: string | null }
  /** Only routes are sold. */
  | { kind: 'none' }

export type BackendConfig =
  | { kind: 'proxy'; baseUrl: string; secret: string | null; timeoutSeconds: number }
  | { kind: 'callback'; fetchResource: FetchResource }
  /** The seller's own handlers answer, with `payPerRequest` as middleware. `idle`: what was set for a backend that is not named. */
  | { kind: 'embedded'; idle?: ReadonlyArray<'secret' | 'timeoutSeconds'> }

/** What agents use besides plain HTTP; null: switched off. */
export interface AgentConfig {
  a2a: { streaming: boolean; transferProofs: boolean } | null
  mcp: { routes: boolean } | null
  documents: boolean
  agentVersion: string
  provider: { organization: string; url: string } | null
  contactEmail: string | null
}

/** How the seller is shown on the pages for people. */
export interface ShopWindowConfig {
  name: string
  /** An https URL, or a path on this host. */
  logoUrl: string | null
  /** `#rrggbb`, in lower case. */
  color: string | null
}

/** What is signed for buyers to show to others. */
export interface ReceiptConfig {
  /** PEM blocks: the first signs, all are published. Null: the keys follow from the secret keys. */
  receiptPrivateKey: string | null
  signedOffers: boolean
}

/** A network on which the seller is paid, and how. */
export interface NetworkConfig {
  /** With the seller's RPCs, explorer, facilitator and confirmations, if they are given. */
  network: Network
  /** Receives the money. */
  walletAddress: Address
  settlement: SettlementConfig
  refundWalletPrivateKey: Hex | null
  /** What the seller calls these settings of this network, for messages: `rpcUrl`, `RPC_URL` or `RPC_URL_137`. */
  labels: Record<NetworkSetting, string>
}

export type NetworkSetting =
  | 'rpcUrl'
  | 'walletAddress'
  | 'gasWalletPrivateKey'
  | 'facilitatorUrl'
  | 'settlerContract'

/** Every option checked and every default filled in. URLs of gateway and facilitator have no slash at the end. */
export interface ResolvedConfig extends Limits, AgentConfig, ReceiptConfig {
  /** In the seller's order: the first is preferred. */
  networks: readonly [NetworkConfig, ...NetworkConfig[]]
  /** A further network is offered for an item only while the gas of settling it is at most this share of the price. */
  maxGasShare: number
  plans: Plan[]
  routes: Route[]
  backend: BackendConfig
  /** The path of the resource endpoint, with `{resourceId}`, if the gateway itself checks bearers and forwards calls; otherwise null. */
  guardedPath: string | null
  /** Null: switched off. */
  shopWindow: ShopWindowConfig | null
  agentName: string
  agentDescription: string
  baseUrl: string
  resourceEndpoint: string
  /** EIP-6492. */
  allowedWalletFactories: Address[]
  store: StoreChoice
  secretKey: SecretKeyConfig
  credential: CredentialConfig
  trustProxy: boolean
  hooks: Hooks
  webhooks: readonly WebhookConfig[]
  webhookAllowHosts: readonly string[]
  onAlert: GatewayOptions['onAlert']
}

export interface Limits {
  tokenTtlSeconds: number
  challengeTtlSeconds: number
  settleWaitSeconds: number
  pollIntervalMs: number
  refundIntervalSeconds: number
  refundMinAgeSeconds: number
  maxBodyBytes: number
  maxResourceBytes: number
  requestTimeoutSeconds: number
  rateLimitPerMinute: number
  payerFailuresPerMinute: number
  payerUndeliveredPerDay: number
  payerLostGasPerDay: number
  lostGasPerDay: number
  /** 0: results are kept for ever. */
  retentionDays: number
}
