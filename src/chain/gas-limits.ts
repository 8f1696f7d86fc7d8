/** The gas limit of a transfer from a payer with code: such a wallet cannot burn more than this. */
export const ALONE_GAS = 300_000

/** The simulated gas, plus room for storage that costs more in a later block, or a balance that was zero. */
export function aloneGasLimit(simulatedGas: number): number {
  return Math.min(ALONE_GAS, Math.ceil(simulatedGas * 1.25) + 10_000)
}

/** The fixed gas of a transaction, of Multicall3 and of the calldata; enough for a whole transfer of nothing. */
export const OVERHEAD_GAS = 40_000
/** The gas of one transfer among others. */
export const GAS_PER_CALL = 120_000
export const MAX_CALLS_PER_TX = 100
/** Below 2^24, the limit of most networks for one transaction. */
export const MAX_TX_GAS = 15_000_000

/** The gas of the fullest transaction that the gas wallet makes: with less than its cost a wallet settles nothing. */
export function fullTransactionGas(maxTxGas = MAX_TX_GAS): bigint {
  const fitting = Math.floor((maxTxGas - OVERHEAD_GAS) / GAS_PER_CALL)
  return BigInt(OVERHEAD_GAS + Math.max(1, Math.min(MAX_CALLS_PER_TX, fitting)) * GAS_PER_CALL)
}
