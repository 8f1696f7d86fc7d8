export type { AuthorizationTypedData } from '../protocol/authorization.ts'
export { type DevAccount, type DevChain, type ReplayedTransaction, startDevChain } from './dev-chain.ts'
export { startDevChains } from './dev-chains.ts'
export { type DevClient, MULTICALL3_ADDRESS, USDC_ADDRESSES } from './dev-client.ts'
export { type Broadcast, startFacilitator, type TestFacilitator } from './facilitator.ts'
export type { Fault, FaultOptions, FaultPlan, FaultyOperation } from './facilitator-faults.ts'
export { createFakeClock, type FakeClock } from './fake-clock.ts'
export { type PostgresServer, startPostgres } from './postgres-server.ts'
export { type RedisServer, type RedisServerOptions, startRedis } from './redis-server.ts'
export {
  type Authorization,
  paymentHeader,
  paymentPayload,
  type SignableRequirements,
  type SignedAuthorization,
  signAuthorization,
  type TypedDataSigner,
} from './sign.ts'
export { type ConformanceCheck, type OpenStore, storeConformance } from './store-conformance.ts'
export type { TokenTransfer } from './test-token.ts'
export type { TestWallet, WalletMode } from './test-wallet.ts'
export { usdcAbi } from './usdc-abi.ts'
