import { createChainClient } from '../../src/chain/chain-client.ts'
import type { OfferedRail } from '../../src/engine/outcome.ts'
import type { Chain, Rail, Scheme, Settlement } from '../../src/ports.ts'
import type { Address } from '../../src/protocol/hex.ts'
import type { Network } from '../../src/protocol/network.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import { railId } from '../../src/rules/rail-id.ts'
import { createExactScheme } from '../../src/schemes/exact/create-exact-scheme.ts'

export const TESTNET = findNetwork('testnet')!
export const MAINNET = findNetwork('mainnet')!
export const SELLER = `0x${'5e'.repeat(20)}` as const

/** Parts of a rail that a test cares about; whatever else is asked rejects. */
export interface TestRailParts extends Partial<Omit<Rail, 'scheme' | 'chain' | 'settlement'>> {
  scheme?: Partial<Scheme>
  chain?: Partial<Chain>
  settlement?: Partial<Settlement>
}

export const mustNotBeAsked = (): Promise<never> => Promise.reject(new Error('must not be asked'))

/** Scheme `exact`: it reads payments as ever, and asks no chain. */
export function testScheme(network: Network = TESTNET, parts: Partial<Scheme> = {}): Scheme {
  const client = createChainClient({ rpcUrl: 'http://127.0.0.1:1', network })
  return {
    ...(createExactScheme(client, { check: mustNotBeAsked }) as Scheme),
    simulate: mustNotBeAsked,
    uses: mustNotBeAsked,
    usesIfMined: mustNotBeAsked,
    ...parts,
  }
}

/** A rail on which everything happens as the test says. */
export function testRail({ scheme: ofScheme, chain, settlement, ...parts }: TestRailParts = {}): Rail {
  const network = parts.network ?? TESTNET
  const scheme = testScheme(network, ofScheme)
  return {
    id: railId(network, scheme.name),
    network,
    payTo: SELLER,
    confirmations: 1,
    scheme,
    chain: {
      head: mustNotBeAsked,
      mined: mustNotBeAsked,
      submit: mustNotBeAsked,
      wallet: mustNotBeAsked,
      ...chain,
    },
    settlement: {
      batchSize: 1,
      unavailable: mustNotBeAsked,
      makeBatches: mustNotBeAsked,
      maintain: async () => {},
      ...settlement,
    },
    refundSubmitters: [],
    transfers: mustNotBeAsked,
    hasSigned: mustNotBeAsked,
    ...parts,
  }
}

/** This rail as an offer names it. */
export const offeredOn = ({ id, network, scheme }: Rail, amount: string, payTo: Address): OfferedRail => ({
  id,
  network,
  scheme: scheme.name,
  amount,
  payTo,
})
