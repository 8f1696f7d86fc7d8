/**
 * The gas limit of a transfer whose payer has code. Simulation and transaction share it: what passes the one then
 * fits into the other, and a wallet that burns gas burns no more than this.
 */
export const ALONE_GAS = 300_000
