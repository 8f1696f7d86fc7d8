import { createX402, type X402 } from '../../src/dialects/x402/create-x402.ts'
import { testRail } from '../engine/test-rail.ts'

/** x402 for one rail on the testnet. */
export function testX402(baseUrl: string): X402 {
  return createX402([testRail()], baseUrl)
}
