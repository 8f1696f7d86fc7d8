import type { AlertKind, FetchResource, FetchResourceCredentials, Hooks, Store } from '../ports.ts'
import type { Plan, Route } from '../protocol/catalog.ts'
import type { EventType } from '../protocol/events.ts'
import type { CustomNetwork } from './custom-network.ts'

/** Headers for each of the facilitator's endpoints, as the official x402 packages shape them. */
export type CreateAuthHeaders = () => Promise<{
  verify?: Record<string, string>
  settle?: Record<string, string>
  supported?: Record<string, string>
}>

/** The API behind routes: a call goes to this base URL plus its path. */
export interface ProxyTo {
  baseUrl: string
  /** Signs every call as `x-svc-signature`, so that the backend can tell them from others. */
  secret?: string | undefined
  /** Default 30. */
  timeoutSeconds?: number | undefined
}

/** An address of yours that is told of events, by signed POST requests (Standard Webhooks). */
export interface WebhookOptions {
  /** https; plain http on testnets, and for hosts in `webhookAllowHosts`. */
  url: string
  /**
   * `whsec_…`; while you replace it both, as a list or `old|new`. Default: one that follows from `secretKey`, which
   * `paystile webhooks secret` shows.
   */
  secret?: string | readonly string[] | undefined
  /** Default: all. */
  events?: readonly EventType[] | undefined
}

/** Settings of one network, which win over the options of the same names. */
export interface NetworkOptions {
  /** One, or several (an array, or separated by commas) that are tried in this order. */
  rpcUrl?: string | readonly string[] | undefined
  facilitatorUrl?: string | undefined
  gasWalletPrivateKey?: string | readonly string[] | undefined
  settlerContract?: boolean | undefined
  walletAddress?: string | undefined
  refundWalletPrivateKey?: string | undefined
  explorerTxUrl?: string | undefined
  confirmations?: number | undefined
  /** A rough price in dollars of the chain's own coin, which pays for gas. */
  nativeUsd?: number | undefined
}

interface Options {
  /** Receives the USDC, on every network that has no other in `perNetwork`. */
  walletAddress: string
  /**
   * Where buyers pay: a word (`base`, `base-sepolia`, `polygon`, …) or CAIP-2 id, or several of them (an array, or separated by
   * commas), of which the first is preferred. `mainnet` is Base, `testnet` (default) is Base Sepolia.
   */
  network?: string | readonly string[]
  /** The same as `network`. */
  networks?: string | readonly string[]
  /** Describes networks that are not known by a word, so that `network` can name their ids. */
  customNetworks?: readonly CustomNetwork[]
  /** What differs on single networks, by chain id: `{ 137: { rpcUrl: 'https://…' } }`. */
  perNetwork?: { readonly [chainId: number]: NetworkOptions }
  /**
   * A further network is offered for an item only while the gas of settling it is at most this share of the price: a number
   * from 0 to 1, or a percentage such as `50%`. Default 0.5. The preferred network takes every price.
   */
  maxGasShare?: number | string
  plans?: readonly Plan[]
  routes?: readonly Route[]
  /** Answers calls of routes, and guarded calls of `resourceEndpoint`. Without it, and without `fetchResource`, routes are embedded only. */
  proxyTo?: ProxyTo
  /** Answers calls of routes with a function of your own instead. */
  fetchResource?: FetchResource
  /** Shown to buyers. Default `paystile`. */
  agentName?: string
  /** Shown to buyers. Default `API access for USDC`. */
  agentDescription?: string
  /** Shown on the agent card. Default `1.0.0`. */
  agentVersion?: string
  /** Who runs the gateway, for the agent card. */
  provider?: { organization: string; url: string }
  /** Where directories and buyers reach you; published in openapi.json. */
  contactEmail?: string
  /**
   * A2A. Default true. `streaming` (default false) offers `message/stream`; `transferProofs` (default true) takes a plain
   * transfer's hash as payment, signed by its sender.
   */
  a2a?: boolean | { streaming?: boolean; transferProofs?: boolean }
  /** MCP at `/mcp`. Default false. `routes` (default false) offers one paid tool per route. */
  mcp?: boolean | { routes?: boolean }
  /** The documents that agents read: llms.txt, skills.md, openapi.json and others. Default true. */
  documents?: boolean
  /**
   * The pages for people: what is sold, at the base path of the standalone server (embedded: where `gateway.shopWindow` is
   * mounted), and a paid GET route that a browser opens. Default true. `name` (default `agentName`), `logoUrl` and `color`
   * (`#rrggbb`) are the seller's.
   */
  shopWindow?: boolean | { name?: string; logoUrl?: string; color?: string }
  /** Where buyers reach the gateway, with its base path. Default `http://localhost:3000`. */
  baseUrl?: string
  /** Where tokens are used: a URL with `{resourceId}`. Default `<baseUrl>/resource/{resourceId}`. */
  resourceEndpoint?: string

  /** Settles by this facilitator instead of the network's default one. */
  facilitatorUrl?: string
  createAuthHeaders?: CreateAuthHeaders
  /** Keys of Coinbase's facilitator, the default on mainnet. */
  cdpApiKeyId?: string
  cdpApiKeySecret?: string
  /** Settles with gas wallets of your own: one key, or several (an array, or separated by commas) that share the work. */
  gasWalletPrivateKey?: string | readonly string[]
  /**
   * Gas wallets send batches to the settler contract (contracts/PaystileSettler.sol) instead of Multicall3: less gas and a third of
   * the calldata. It must be on the chain already: `paystile deploy-settler` puts it there. Default false.
   */
  settlerContract?: boolean
  /** Signs refunds, and also sends them if no gas wallet can and it holds ETH; normally the key of `walletAddress`. Without it refunds wait. */
  refundWalletPrivateKey?: string
  /**
   * Factories whose wallets may pay before they are deployed (EIP-6492): addresses, as an array or separated by commas.
   * Default: none. A facilitator deploys them; with a gas wallet of your own such a wallet must be deployed already.
   */
  allowedWalletFactories?: string | readonly string[]
  /**
   * Default: the network's public RPC. Several (an array, or separated by commas) are tried in this order. With several
   * networks each has its own in `perNetwork`.
   */
  rpcUrl?: string | readonly string[]
  /** The transaction hash is appended. Default: the network's usual explorer. */
  explorerTxUrl?: string

  /** Default: the embedded durable store in `./data`. `'memory'` forgets everything and is refused on mainnet. */
  store?: 'memory' | { dataDir: string } | Store
  /** Keeps the records in Postgres: many instances may share it. `postgres://user:password@host:5432/database`. */
  databaseUrl?: string
  /** Keeps the records in Redis; with `databaseUrl` it only carries wake-ups between instances. */
  redisUrl?: string
  /** Signs challenge ids and encrypts grants; a comma-separated list is for rotation. Default: generated beside the embedded store. */
  secretKey?: string

  /**
   * Signs receipts (ES256) with this PEM; further PEMs are older keys that stay published. Default: a key that follows from
   * `secretKey`.
   */
  receiptPrivateKey?: string | readonly string[]
  /** Signs the offers of each 402 as well, which takes longer than the rest of a 402. Default false. */
  signedOffers?: boolean

  /** Credential step 1: JWTs signed with HS256 and this secret of at least 32 bytes. */
  tokenSecret?: string
  /** Credential step 2: JWTs signed with RS256 and this PEM; further PEMs are older keys that are still accepted. */
  tokenPrivateKey?: string | readonly string[]
  /** Credential step 3: the seller's own code. */
  fetchResourceCredentials?: FetchResourceCredentials
  /** Credential step 4: the seller's token endpoint. */
  issueTokenApi?: string
  /** Sent to `issueTokenApi` as bearer. */
  issueTokenApiSecret?: string
  /** Lifetime of a JWT, unless its plan says otherwise. Default 3600. */
  tokenTtlSeconds?: number

  /** Default 900. */
  challengeTtlSeconds?: number
  /** How long a paying request waits for the chain before it answers SETTLEMENT_PENDING. Default 30. */
  settleWaitSeconds?: number
  /** Blocks until a payment counts as confirmed. Default: the network's, which is 1 for all that are known by a word. */
  confirmations?: number
  /** Default 1000. */
  pollIntervalMs?: number
  /** Default 60. */
  refundIntervalSeconds?: number
  /** Age at which a paid, undelivered call is refunded. Default 300. */
  refundMinAgeSeconds?: number
  /** Default 1 MiB. */
  maxBodyBytes?: number
  /** The largest answer of a paid call; more is a failed delivery. Default 1 MiB. */
  maxResourceBytes?: number
  /** For a request without its settlement. Default 30. */
  requestTimeoutSeconds?: number
  /** Results of sales are deleted this many days after the payment; the records of the money stay. Default 0: never. */
  retentionDays?: number
  /** Unpaid requests per minute and address and, counted separately, failing payments; 0 is off. Default 600. */
  rateLimitPerMinute?: number
  /** Failing payments of one payer per minute, and new signatures with which it fetches a purchase again; 0 is off. Default 30. */
  payerFailuresPerMinute?: number
  /** Paid calls of one payer per day (UTC) that were not delivered and are refunded at our cost; 0 is off. Default 20. */
  payerUndeliveredPerDay?: number
  /**
   * Gas that the gas wallet may lose per day (UTC) and network to payments of one payer that fail on chain; 0 is off. On a
   * network where a million gas costs more than 20 cents it counts as money, so that less of it may be lost. Default 1,500,000, which is 30 cents.
   */
  payerLostGasPerDay?: number
  /** The same for all payers together: beyond it, only accounts without code may pay; 0 is off. Default 30,000,000, which is 6 dollars. */
  lostGasPerDay?: number
  /** Trust `X-Forwarded-*`, and pass it on to the backend. Default false. */
  trustProxy?: boolean

  /** Called at least once per payment; its promise is not awaited. */
  onPaymentReceived?: Hooks['onPaymentReceived']
  onRefund?: Hooks['onRefund']
  /** Told of every sale, refund and alert, at least once, also after a crash. */
  webhooks?: readonly WebhookOptions[]
  /** Hosts, or `host:port`, of webhooks that may be private or plain http: an array, or separated by commas. Default: none. */
  webhookAllowHosts?: string | readonly string[]
  /** Called with every alert, which is logged as well. */
  onAlert?: (kind: AlertKind, message: string) => void
}

/**
 * The options of `createGateway`. Only the wallet, something to sell and, for plans, one credential step are required. Each
 * may be undefined, as values of `process.env` are: a ConfigError lists what is missing.
 *
 * @example
 * const options: GatewayOptions = {
 *   walletAddress: process.env.WALLET_ADDRESS,
 *   plans: [{ planId: 'basic', unitAmount: '$1.00' }],
 *   tokenSecret: process.env.TOKEN_SECRET,
 * }
 */
export type GatewayOptions = { [Name in keyof Options]: Options[Name] | undefined }

/** The name of an option of `createGateway`. */
export type OptionName = keyof GatewayOptions

/** An option, or a member that has a variable of its own. */
export type LabelName =
  | OptionName
  | 'proxyTo.secret'
  | 'proxyTo.timeoutSeconds'
  | 'a2a.streaming'
  | 'a2a.transferProofs'
  | 'mcp.routes'
  | 'provider.url'
  | 'shopWindow.name'
  | 'shopWindow.logoUrl'
  | 'shopWindow.color'
  | 'webhooks.secrets'
  | `perNetwork.${number}.${keyof NetworkOptions}`

/** Where the options came from, if not from a call of `createGateway`. */
export interface OptionSource {
  /** How messages name each option: `{ walletAddress: 'SVC_WALLET_ADDRESS' }`. An option without a label cannot be set there. */
  labels?: { readonly [N in LabelName]?: string }
  /** Faults found while the options were read; reported together with all others. */
  faults?: readonly string[]
  /** Options whose value could not be read: they are faulty, not missing. */
  unreadable?: readonly LabelName[]
}

// A Record, so that the compiler reports any difference between this list and the type.
const KNOWN: Record<OptionName, true> = {
  walletAddress: true,
  network: true,
  networks: true,
  customNetworks: true,
  perNetwork: true,
  maxGasShare: true,
  plans: true,
  routes: true,
  proxyTo: true,
  fetchResource: true,
  agentName: true,
  agentDescription: true,
  agentVersion: true,
  provider: true,
  contactEmail: true,
  a2a: true,
  mcp: true,
  documents: true,
  shopWindow: true,
  baseUrl: true,
  resourceEndpoint: true,
  facilitatorUrl: true,
  createAuthHeaders: true,
  cdpApiKeyId: true,
  cdpApiKeySecret: true,
  gasWalletPrivateKey: true,
  settlerContract: true,
  refundWalletPrivateKey: true,
  allowedWalletFactories: true,
  rpcUrl: true,
  explorerTxUrl: true,
  store: true,
  databaseUrl: true,
  redisUrl: true,
  secretKey: true,
  receiptPrivateKey: true,
  signedOffers: true,
  tokenSecret: true,
  tokenPrivateKey: true,
  fetchResourceCredentials: true,
  issueTokenApi: true,
  issueTokenApiSecret: true,
  tokenTtlSeconds: true,
  challengeTtlSeconds: true,
  settleWaitSeconds: true,
  confirmations: true,
  pollIntervalMs: true,
  refundIntervalSeconds: true,
  refundMinAgeSeconds: true,
  maxBodyBytes: true,
  maxResourceBytes: true,
  requestTimeoutSeconds: true,
  rateLimitPerMinute: true,
  payerFailuresPerMinute: true,
  payerUndeliveredPerDay: true,
  payerLostGasPerDay: true,
  lostGasPerDay: true,
  retentionDays: true,
  trustProxy: true,
  onPaymentReceived: true,
  onRefund: true,
  webhooks: true,
  webhookAllowHosts: true,
  onAlert: true,
}
export const OPTION_NAMES = Object.keys(KNOWN) as readonly OptionName[]
