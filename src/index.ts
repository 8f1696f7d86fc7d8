export type { Backstage, Instruments } from './backstage.ts'
export type { NetworkBalances, WalletBalance, WalletRole } from './chain/wallet-balances.ts'
export type { CustomNetwork } from './config/custom-network.ts'
export type {
  CreateAuthHeaders,
  GatewayOptions,
  LabelName,
  NetworkOptions,
  OptionName,
  OptionSource,
  ProxyTo,
  WebhookOptions,
} from './config/options.ts'
export type { AccessClaims } from './delivery/access-claims.ts'
export type { ExpectedAccess, Verified, VerifyBearer } from './delivery/verify-bearer.ts'
export type { X402Words } from './dialects/x402/create-x402.ts'
export type { Fault } from './dialects/x402/read-payment.ts'
export type { EventsControl, Resend } from './engine/events/events-api.ts'
export type {
  ClosedCredits,
  CreditBalance,
  Dossier,
  EchoedIds,
  Engine,
  Granted,
  HandlerResult,
  Intent,
  Offer,
  OfferedRail,
  OfferedTerms,
  Outcome,
  OwnedAccess,
  Payment,
  PrepaidIntent,
  PrepaidOutcome,
  RailState,
  Reservation,
  SettledPayment,
  SignedReceipt,
  Spender,
  TransferProof,
  Wallet,
  WalletProof,
} from './engine/outcome.ts'
export { ConfigError, type ErrorDetails, GatewayError } from './errors.ts'
// The rows that a store keeps, and what they say of the chain.
export type * from './facts.ts'
export { createGateway, type Gateway } from './gateway.ts'
export type { EchoedOffer } from './gateway-api.ts'
export type {
  AlertKind,
  Alerts,
  AnswerStream,
  CallbackCredential,
  Committed,
  FetchResource,
  FetchResourceCredentials,
  HandlerAnswer,
  Hooks,
  LetOut,
  Put,
  ResourceAnswer,
  RouteCall,
  Step,
  Store,
  StoreChoice,
  WebhookEndpoint,
} from './ports.ts'
export type {
  AccessGrant,
  BackendAnswer,
  ChallengeState,
  ChallengeStatus,
  Debit,
  RawAnswer,
  RefundNotice,
  ResourceResponse,
  RouteAnswer,
  SvcPayment,
} from './protocol/access.ts'
export type { DiscoveryCatalog, Plan, RefundTerms, Route, SoldOnNetwork } from './protocol/catalog.ts'
export type { PricedCall, PriceOfCall } from './protocol/computed-price.ts'
export { ERROR_CODES, type ErrorBody, type ErrorCode, type TopUp } from './protocol/error-codes.ts'
export { EVENT_TYPES, type EventType, type WebhookBody } from './protocol/events.ts'
export type { Address, Hex } from './protocol/hex.ts'
export type { FeePolicy, Network, Token } from './protocol/network.ts'
export { NETWORKS } from './protocol/networks.ts'
export type {
  Accepted,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  RequirementsExtra,
  SettleResponse,
} from './protocol/payment.ts'
export type { Charged, ChargeRoute } from './transports/http/charge-route.ts'
export type { CapturedAnswer, MeteredCharge, SvcCharge } from './transports/http/charged.ts'
export type { Peer } from './transports/http/safeguards.ts'
export type { AccessHead, VerifiedAccess } from './transports/http/verify-access.ts'
export { VERSION } from './version.ts'
