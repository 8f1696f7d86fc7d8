import type { RefundSigner, TxSigner } from '../../src/ports.ts'
import type { Authorization } from '../../src/protocol/authorization.ts'
import type { Address, Hex } from '../../src/protocol/hex.ts'
import type { Network } from '../../src/protocol/network.ts'
import { sha256 as hash } from '../../src/rules/sha256.ts'
import { authorizationKey, type SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import { refundNonceOf } from '../../src/schemes/exact/refund-nonce.ts'
import type { SignedPermit } from '../../src/schemes/upto/permit.ts'
import { isPermit } from '../../src/schemes/upto/settle-call.ts'
import { COUPON_KEYS } from '../schemes/coupon/coupon.ts'

const MOST_REMEMBERED = 2_000
const remembered = new Map<string, string>()

/** Remembered, because a signature is checked again with every look at the chain. */
function sha256(text: string): string {
  const known = remembered.get(text)
  if (known !== undefined) return known
  if (remembered.size >= MOST_REMEMBERED) remembered.clear()
  const digest = hash(text)
  remembered.set(text, digest)
  return digest
}

/**
 * A signature is a hash of the chain, the signer's address and all fields. Nothing but the rule of the game keeps a hostile
 * buyer from computing another's; our buyers sign only as themselves, and forge by altering what was signed.
 */
export function signAuthorization(auth: Authorization, { chainId }: Pick<Network, 'chainId'>): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = auth
  return `0x${sha256([chainId, from, to, value, validAfter, validBefore, nonce].join('|'))}`
}

/** The same for a maximum, by Permit2. */
export function signPermit(
  permit: Omit<SignedPermit, 'signature'>,
  { chainId }: Pick<Network, 'chainId'>,
): Hex {
  const { from, token, amount, spender, nonce, deadline, to, facilitator, validAfter } = permit
  const fields = [chainId, from, token, amount, spender, nonce, deadline, to, facilitator, validAfter]
  return `0x${sha256(`permit|${fields.join('|')}`)}`
}

export function isSigned(auth: SignedAuthorization, network: Pick<Network, 'chainId'>): boolean {
  return auth.signature === signAuthorization(auth, network)
}

/** The same for a text: what a sender signs to prove its transfer. */
export function signText(address: Address, text: string): Hex {
  return `0x${sha256(`${address} signs ${text}`)}`
}

/** A wallet's transaction: its text in hex. */
export interface RawTx {
  wallet: Address
  nonce: number
  calls: Array<SignedAuthorization | SignedPermit>
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
        calls: (calls as ReadonlyArray<SignedAuthorization | SignedPermit>).map((call) => {
          if (isPermit(call)) return { ...call }
          const { from, to, value, validAfter, validBefore, nonce: id, signature } = call
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

/** As the real signer makes it; a coupon's key is of the tests alone, and no receipt of a token. */
export function simRefundNonce(receiptKey: string, { token }: Pick<Network, 'token'>): Hex {
  if (receiptKey.startsWith(COUPON_KEYS)) return `0x${sha256(`refund of ${receiptKey}`)}`
  return refundNonceOf(receiptKey, token.address)
}

const REFUND_VALIDITY_SECONDS = 900

export function createSimRefundSigner(address: Address, network: Network): RefundSigner {
  return {
    address,
    keyOf: (receiptKey) => authorizationKey(network, address, simRefundNonce(receiptKey, network)),
    async sign({ receiptKey, recipient, value }, chainTime) {
      const auth: Authorization = {
        from: address,
        to: recipient,
        value,
        validAfter: '0',
        validBefore: String(chainTime + REFUND_VALIDITY_SECONDS),
        nonce: simRefundNonce(receiptKey, network),
      }
      return { ...auth, signature: signAuthorization(auth, network) }
    },
  }
}
