import { type Hex, sameHex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { findNetwork, NETWORKS } from '../protocol/networks.ts'
import { BuyerError } from './buyer-error.ts'

/** The facts of a chain and of a dollar token on it that a buyer needs before signing. */
export interface BuyerNetwork {
  /** CAIP-2 id, e.g. `eip155:8453`. */
  id: string
  chainId: number
  /** The token's address. */
  asset: Hex
  /** The token's EIP-712 domain. */
  domain: { name: string; version: string }
  /** Of the token. Default 6, as USDC has. */
  decimals?: number
}

/** What a buyer may pay with. */
export interface AllowedNetworks {
  networks: readonly BuyerNetwork[]
  /** The caller chose them, in order of preference. Otherwise the seller's order counts. */
  named: boolean
  /** Default `use`. */
  metered?: MeteredMode
}

/** Whether offers by scheme `upto` are paid: where there is no fixed price, before a fixed price, or never. */
export type MeteredMode = 'use' | 'prefer' | 'off'

/** The networks that paystile knows, as a buyer sees them. */
export const BUYER_NETWORKS: readonly BuyerNetwork[] = NETWORKS.map(asBuyerNetwork)

function asBuyerNetwork({ id, chainId, token }: Network): BuyerNetwork {
  return { id, chainId, asset: token.address, domain: token.domain, decimals: token.decimals }
}

/** The networks of the option `networks`: words, CAIP-2 ids, or networks that the caller describes. */
export function allowedNetworks(given: ReadonlyArray<string | BuyerNetwork> | undefined): AllowedNetworks {
  if (given === undefined) return { networks: BUYER_NETWORKS, named: false }
  if (given.length === 0) {
    throw new BuyerError('BAD_OPTION', 'networks is empty; name one such as "base", or leave it out')
  }
  return { networks: given.map((one) => (typeof one === 'string' ? byWord(one) : one)), named: true }
}

function byWord(word: string): BuyerNetwork {
  const network = findNetwork(word)
  if (network) return asBuyerNetwork(network)
  const known = NETWORKS.map((one) => one.word).join(', ')
  const message = `networks has ${JSON.stringify(word)}; known are ${known}. Any other is given as an object: id, chainId, asset, domain`
  throw new BuyerError('BAD_OPTION', message)
}

/** As people call it, or its id. It may come from a stranger, so it is kept short. */
export function networkName(id: string): string {
  return NETWORKS.find((network) => network.id === id)?.name ?? id.slice(0, 64)
}

/** True: its money is for tests only. Undefined: not known. */
export function isTestnet(id: string): boolean | undefined {
  return NETWORKS.find((network) => network.id === id)?.testnet
}

export const decimalsOf = ({ decimals = 6 }: BuyerNetwork): number => decimals

/** The token's symbol, or its address if it has none that we know. */
export function symbolOf({ id, asset }: BuyerNetwork): string {
  const token = NETWORKS.find((network) => network.id === id)?.token
  return token && sameHex(token.address, asset) ? token.symbol : asset
}

/** `200000n` → `"0.20"`: at least two decimals, no more than needed. */
export function tokenText(units: bigint, network: BuyerNetwork): string {
  const decimals = decimalsOf(network)
  const digits = units.toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  const fraction = digits.slice(point).replace(/0+$/, '').padEnd(2, '0')
  return `${digits.slice(0, point)}.${fraction}`
}
