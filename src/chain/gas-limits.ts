/** The gas limit of a transfer from a payer with code: such a wallet cannot burn more than this. */
export const ALONE_GAS = 300_000

/** The simulated gas, plus room for storage that costs more in a later block, or a balance that was zero. */
export function aloneGasLimit(simulatedGas: number): number {
  return Math.min(ALONE_GAS, Math.ceil(simulatedGas * 1.25) + 10_000)
}
