import type { Address, Hex } from '../protocol/hex.ts'
import settler from './settler.json' with { type: 'json' }

/**
 * The settler contract (contracts/PaystileSettler.sol): batches of payments out of packed calldata. Its address follows
 * from its code, so it is the same on every chain.
 */
export const SETTLER = settler.address as Address
/** What `eth_getCode` gives at that address. */
export const SETTLER_CODE = settler.deployedCode as Hex
/** The deterministic deployment proxy makes it with {@link SETTLER_DEPLOY_DATA}. */
export const CREATE2_DEPLOYER = settler.deployer as Address
export const SETTLER_DEPLOY_DATA = `${settler.salt}${settler.initCode.slice(2)}` as Hex
export const SETTLER_SOLC = settler.solc
