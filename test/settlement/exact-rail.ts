import { createChainClient } from '../../src/chain/chain-client.ts'
import type { ReadableRail } from '../../src/dialects/x402/read-payment.ts'
import type { Network } from '../../src/protocol/network.ts'
import { railId } from '../../src/rules/rail-id.ts'
import { createExactScheme } from '../../src/schemes/exact/create-exact-scheme.ts'
import { createSignatures } from '../../src/schemes/exact/signatures.ts'

/** What a dialect needs of the rail for scheme `exact`; reading a payment asks no chain. */
export function exactRail(network: Network): ReadableRail {
  const where = { rpcUrl: network.rpcUrls[0]!, network }
  const scheme = createExactScheme(createChainClient(where), createSignatures(where))
  return { id: railId(network, scheme.name), network, scheme }
}
