import type { Mutation } from './outside.ts'

export const NO_MUTATION: Mutation = {
  store: (store) => store,
  chain: (chain) => chain,
  settlement: (settlement) => settlement,
  refundSigner: (signer) => signer,
  random: (random) => random,
  ports: (ports) => ports,
  answer: (outcome) => outcome,
}
