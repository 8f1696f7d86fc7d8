import type { ReceiptSigner } from '../../../src/ports.ts'
import type { RefundReceipt, SaleReceipt, Statement } from '../../../src/protocol/receipts.ts'

/** How often the instances of a history have signed. */
export interface Signatures {
  made: number
}

/**
 * Signs with a number instead of a key. As with ES256, no two signatures are equal, so that a receipt which was signed
 * once more does not look like the first one.
 */
export function createSimSigner(signatures: Signatures): ReceiptSigner {
  return {
    sign(statement: Statement) {
      signatures.made++
      return `sim.${Buffer.from(JSON.stringify(statement)).toString('base64url')}.${signatures.made}`
    },
  }
}

/** What a receipt of this signer says. */
export function readReceipt(jws: string): SaleReceipt & Partial<RefundReceipt> {
  return JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString('utf8'))
}
