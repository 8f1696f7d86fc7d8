import type { X402 } from '../../src/dialects/x402/create-x402.ts'
import type { EngineConfig, Ports } from '../../src/engine/core.ts'
import type { Engine, Outcome } from '../../src/engine/outcome.ts'
import type { Random, RefundSigner, Settlement, Store } from '../../src/ports.ts'
import type { Hex } from '../../src/protocol/hex.ts'
import type { WireIntent } from './buyers/wire.ts'
import type { ChainPort, StaleLooks } from './chain/chain-port.ts'
import type { SimChain } from './chain/sim-chain.ts'
import type { Outages } from './outages.ts'
import type { MeterBook } from './ports/meter-book.ts'
import type { PaidCalls } from './ports/paid-calls.ts'
import type { Issuer } from './ports/sim-delivery.ts'
import type { Arrived } from './ports/sim-endpoint.ts'
import type { Signatures } from './ports/sim-receipts.ts'
import type { CreditLedger } from './ports/watch-credits.ts'
import type { WatchedReceipts } from './ports/watch-receipts.ts'
import type { World } from './world.ts'

/** What survives every instance. */
export interface Outside {
  world: World
  /** How buyers and gateways speak. */
  x402: X402
  /** In the seller's order. */
  chains: readonly SimChain[]
  store: Store
  issuer: Issuer
  signatures: Signatures
  signed: WatchedReceipts
  credits: CreditLedger
  meter: MeterBook
  paidCalls: PaidCalls
  staleLooks: StaleLooks
  config: EngineConfig
  mutation: Mutation
  outages: Outages
  /** Challenges for whose payment or refund the seller's hook was called. */
  told: Set<string>
  /** Events that reached the seller's endpoint, in this order, repeated ones as well. */
  arrived: Arrived[]
  /** Nonces of refunds that a facilitator refused, where the engine heard it. */
  refusedRefunds: Set<Hex>
  /** All alerts to operators. */
  alerts: string[]
  /** Questions to the chain, and transactions for it; with several chains, without those that watch a rail. */
  chainCalls: number
}

/** A money bug put between the engine and its ports, to see that the simulator notices. */
export interface Mutation {
  store(store: Store): Store
  chain(chain: ChainPort, truth: SimChain): ChainPort
  settlement(settlement: Settlement): Settlement
  refundSigner(signer: RefundSigner): RefundSigner
  random(random: Random): Random
  ports(ports: Ports, outside: Outside): Ports
  /** What a transport makes of the engine's answer. */
  answer(outcome: Outcome, intent: WireIntent, engine: Engine): Outcome
}
