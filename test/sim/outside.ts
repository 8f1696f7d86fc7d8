import type { EngineConfig, Ports } from '../../src/engine/core.ts'
import type { Chain, Random, RefundSigner, Settlement, Store } from '../../src/ports.ts'
import type { Hex } from '../../src/protocol/hex.ts'
import type { StaleLooks } from './chain/chain-port.ts'
import type { SimChain } from './chain/sim-chain.ts'
import type { Issuer } from './ports/sim-delivery.ts'
import type { World } from './world.ts'

/** What outlives every instance. */
export interface Outside {
  world: World
  chain: SimChain
  store: Store
  issuer: Issuer
  staleLooks: StaleLooks
  config: EngineConfig
  mutation: Mutation
  chainIsDown: () => boolean
  /** Challenges whose payment, or refund, the seller was told of. */
  told: Set<string>
  /** Nonces of refunds that a facilitator refused, where the engine heard it. */
  refusedRefunds: Set<Hex>
  /** All that operators were told. */
  alerts: string[]
  /** Questions to the chain, and transactions for it. */
  chainCalls: number
}

/** A money bug put between the engine and its ports, to see that the simulator notices. */
export interface Mutation {
  store(store: Store): Store
  chain(chain: Chain, truth: SimChain): Chain
  settlement(settlement: Settlement): Settlement
  refundSigner(signer: RefundSigner): RefundSigner
  random(random: Random): Random
  ports(ports: Ports, outside: Outside): Ports
}
