import { reasonOfRevert } from '../exact/revert-reason.ts'

/** The errors of Permit2 and of the proxy by their selectors, as stable codes. */
const REASONS: Readonly<Record<string, string>> = {
  '0x756688fe': 'authorization_used', // InvalidNonce()
  '0xcd21db4f': 'authorization_expired', // SignatureExpired(uint256)
  '0x815e1d64': 'invalid_signature', // InvalidSigner()
  '0x8baa579f': 'invalid_signature', // InvalidSignature()
  '0x4be6321b': 'invalid_signature', // InvalidSignatureLength()
  '0xb0669cbc': 'invalid_signature', // InvalidContractSignature()
  '0xa65539fa': 'authorization_not_yet_valid', // PaymentTooEarly()
}

/** Why a settlement reverts; `fallback` is the node's own message. */
export function reasonOfSettlement(data: string, fallback: string): string {
  return REASONS[data.slice(0, 10).toLowerCase()] ?? reasonOfRevert(data, fallback)
}
