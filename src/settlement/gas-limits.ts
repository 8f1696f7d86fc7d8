/** The most gas that a transfer may take whose payer has code: a wallet that burns gas burns no more than this. */
export const ALONE_GAS = 300_000

/** What the simulation used, and room for a block in which storage is colder or a balance was zero. */
export function aloneGasLimit(simulatedGas: number): number {
  return Math.min(ALONE_GAS, Math.ceil(simulatedGas * 1.25) + 10_000)
}
