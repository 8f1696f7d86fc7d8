import { createHash } from 'node:crypto'
import type { RefundSigner, SignedAuthorization, TxSigner } from '../../src/ports.ts'
import type { Address, Hex } from '../../src/protocol/hex.ts'
import type { Authorization } from '../../src/protocol/payment.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * A signature is a hash of the signer's address and all fields. Nothing but the rule of the game keeps a hostile
 * buyer from computing another's; our buyers sign only as themselves, and forge by altering what was signed.
 */
export function signAuthorization(auth: Authorization): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = auth
  return `0x${sha256([from, to, value, validAfter, validBefore, nonce].join('|'))}`
}

export function isSigned(auth: SignedAuthorization): boolean {
  return auth.signature === signAuthorization(auth)
}

/** The same for a text: what a sender signs to prove its transfer. */
export function signText(address: Address, text: string): Hex {
  return `0x${sha256(`${address} signs ${text}`)}`
}

/** A wallet's transaction: its text in hex. */
export interface RawTx {
  wallet: Address
  nonce: number
  calls: SignedAuthorization[]
  maxFeePerGas: string
  maxPriorityFeePerGas: string
  gas: number
}

export function decodeRaw(raw: Hex): RawTx & { hash: Hex } {
  const text = Buffer.from(raw.slice(2), 'hex').toString()
  return { ...(JSON.parse(text) as RawTx), hash: `0x${sha256(text)}` }
}

export function createSimTxSigner(address: Address): TxSigner {
  return {
    address,
    async sign({ nonce, calls, maxFeePerGas, maxPriorityFeePerGas, gas }) {
      const tx: RawTx = {
        wallet: address,
        nonce,
        calls: calls.map(({ from, to, value, validAfter, validBefore, nonce: id, signature }) => {
          return { from, to, value, validAfter, validBefore, nonce: id, signature }
        }),
        maxFeePerGas: String(maxFeePerGas),
        maxPriorityFeePerGas: String(maxPriorityFeePerGas),
        gas,
      }
      const text = JSON.stringify(tx)
      return { raw: `0x${Buffer.from(text).toString('hex')}`, hash: `0x${sha256(text)}` }
    },
  }
}

export function simRefundNonce(receiptKey: string): Hex {
  return `0x${sha256(`refund of ${receiptKey}`)}`
}

export function createSimRefundSigner(address: Address): RefundSigner {
  return { address, nonceOf: simRefundNonce, sign: async (auth) => signAuthorization(auth) }
}
