import type { Ports } from '../../src/engine/core.ts'
import type { Chain, Random, RefundSigner, Settlement, Store } from '../../src/ports.ts'
import type { SimChain } from './chain/sim-chain.ts'
import type { Outside } from './instance.ts'

/** A money bug put between the engine and its ports, to see that the simulator notices. */
export interface Mutation {
  store(store: Store): Store
  chain(chain: Chain, truth: SimChain): Chain
  settlement(settlement: Settlement): Settlement
  refundSigner(signer: RefundSigner): RefundSigner
  random(random: Random): Random
  ports(ports: Ports, outside: Outside): Ports
}

export const NO_MUTATION: Mutation = {
  store: (store) => store,
  chain: (chain) => chain,
  settlement: (settlement) => settlement,
  refundSigner: (signer) => signer,
  random: (random) => random,
  ports: (ports) => ports,
}
