export type { GatewayOptions, ProxyTo } from './config/options.ts'
export { ConfigError, GatewayError } from './errors.ts'
export { createGateway, type Gateway, VERSION } from './gateway.ts'
export type { FetchResource, FetchResourceCredentials, ResourceAnswer, Store } from './ports.ts'
export type {
  AccessGrant,
  ChallengeState,
  ChallengeStatus,
  ResourceResponse,
  SvcPayment,
} from './protocol/access.ts'
export type { DiscoveryCatalog, Plan, Route } from './protocol/catalog.ts'
export { ERROR_CODES, type ErrorBody, type ErrorCode } from './protocol/error-codes.ts'
export { NETWORKS, type Network } from './protocol/network.ts'
export type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
} from './protocol/payment.ts'
