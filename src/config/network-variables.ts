import type { NetworkOptions } from './options.ts'

export type NetworkOptionName = keyof NetworkOptions

/**
 * What can be set for one network alone, and the variable that does it, to which the chain id is appended: `RPC_URL_137`.
 * Each also reads `NAME_FILE`.
 */
export const NETWORK_VARIABLES: Record<
  NetworkOptionName,
  { variable: string; kind: 'text' | 'whole number' | 'number' | 'flag' }
> = {
  walletAddress: { variable: 'SVC_WALLET_ADDRESS', kind: 'text' },
  facilitatorUrl: { variable: 'FACILITATOR_URL', kind: 'text' },
  gasWalletPrivateKey: { variable: 'GAS_WALLET_PRIVATE_KEY', kind: 'text' },
  settlerContract: { variable: 'SETTLER_CONTRACT', kind: 'flag' },
  refundWalletPrivateKey: { variable: 'REFUND_WALLET_PRIVATE_KEY', kind: 'text' },
  rpcUrl: { variable: 'RPC_URL', kind: 'text' },
  explorerTxUrl: { variable: 'EXPLORER_TX_URL', kind: 'text' },
  confirmations: { variable: 'CONFIRMATIONS', kind: 'whole number' },
  nativeUsd: { variable: 'NATIVE_USD', kind: 'number' },
}
export const NETWORK_OPTION_NAMES = Object.keys(NETWORK_VARIABLES) as readonly NetworkOptionName[]

const SUFFIXED = /^([A-Z_]+)_([1-9]\d{0,14})$/

export interface NetworkVariable {
  option: NetworkOptionName
  /** The name without the chain id: `RPC_URL`. */
  plain: string
  chainId: number
}

/** What `RPC_URL_137` says; undefined if it is no variable of one network. Without `_FILE`. */
export function networkVariable(name: string): NetworkVariable | undefined {
  const [, plain, chainId] = SUFFIXED.exec(name) ?? []
  const option = NETWORK_OPTION_NAMES.find((known) => NETWORK_VARIABLES[known].variable === plain)
  return option && { option, plain: plain!, chainId: Number(chainId) }
}

/** The variables of single networks among these names, without `_FILE` and each once. */
export function networkVariablesAmong(names: Iterable<string>): string[] {
  const plain = [...names].map((name) => name.replace(/_FILE$/, ''))
  return [...new Set(plain)].filter((name) => networkVariable(name) !== undefined)
}
