import type { PaymentRequired, PaymentRequirements } from '../../src/protocol/payment.ts'
import type { PayNetwork } from '../../src/transports/people/payment-page.ts'

/** EIP-712, as `eth_signTypedData_v4` takes it. */
export function typedData(
  accepted: PaymentRequirements,
  { chainId }: PayNetwork,
  message: Authorization,
): object {
  const { name, version } = accepted.extra
  return {
    domain: { name, version, chainId, verifyingContract: accepted.asset },
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message,
  }
}

/** EIP-3009. */
export interface Authorization {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
}

export function authorize(accepted: PaymentRequirements, from: string, nowSeconds: number): Authorization {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return {
    from,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(nowSeconds + accepted.maxTimeoutSeconds),
    nonce: `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  }
}

/** The `payment-signature` header. */
export function paymentHeader(
  { resource }: PaymentRequired,
  accepted: PaymentRequirements,
  payload: { signature: string; authorization: Authorization },
): string {
  const { scheme, network } = accepted
  const text = JSON.stringify({ x402Version: 2, scheme, network, resource, accepted, payload })
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

export function decodeBase64Json(text: string): Record<string, unknown> | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** `10000` of six decimals is `$0.01`. */
export function dollars(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `$${digits.slice(0, digits.length - decimals)}.${fraction.padEnd(2, '0')}`
}
