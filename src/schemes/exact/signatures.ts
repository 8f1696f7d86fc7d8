import { bytesToHex, hashMessage } from 'viem/utils'
import { loadCurve } from '../../chain/curve.ts'
import { ALONE_GAS } from '../../chain/gas-limits.ts'
import type { Keccak } from '../../chain/keccak.ts'
import { loadKeccak } from '../../chain/keccak.ts'
import { decodeAggregate3, encodeAggregate3, MULTICALL3 } from '../../chain/multicall.ts'
import { isRevert } from '../../chain/rpc-answer.ts'
import { type RpcSource, rpcOf } from '../../chain/rpc-pool.ts'
import { readHex, toQuantity } from '../../chain/rpc-values.ts'
import { UnavailableError } from '../../errors.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import type { Network } from '../../protocol/network.ts'
import type { SignedAuthorization } from './authorization.ts'
import { createAuthorizationDigest } from './authorization-digest.ts'
import { DEPLOY_CALL_GAS, isWrapped, unwrap, type Wrapped } from './eip6492.ts'
import { createSignerRecovery, type RecoverSigner } from './recover-signer.ts'
import { EIP1271_AGREED, encodeIsValidSignature, isEncodable } from './token-calls.ts'

const TOO_LARGE = 'the authorization has a number above 2^256 - 1'

/** What a scheme has its payers sign. */
export interface SignedMessages<S> {
  /** Makes the function that gives the bytes which the payer's key signed. */
  digest(network: Network, keccak: Keccak): (signed: S) => Uint8Array
  /** Numbers above a uint256 have no digest. */
  isEncodable(signed: S): boolean
}

const exactMessages: SignedMessages<SignedAuthorization> = { digest: createAuthorizationDigest, isEncodable }

interface SignedBy {
  from: Address
  signature: Hex
}
/** Half the order of secp256k1: a larger s is the malleable twin of a valid signature, and the token refuses it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

export interface Signatures<S = SignedAuthorization> {
  /**
   * Did the payer sign this? `contract`: the payer's code confirms it (EIP-1271). `unwrapped`: the code confirms it,
   * and this is the signature to send to the token, without its wrapper (EIP-6492).
   */
  check(auth: S): Promise<'eoa' | 'contract' | { unwrapped: Hex } | { invalid: string }>
  /** Did this account sign this text (EIP-191)? Its code is asked only if `mayAskCode` allows it. */
  hasSigned(account: Address, text: string, signature: Hex, mayAskCode?: () => boolean): Promise<boolean>
}

/**
 * Checks signatures: of plain accounts by recovery, without any I/O; otherwise, if the payer has code, by asking that
 * code (EIP-1271). A payer with code whose key signed counts as `eoa` here; the simulation, which runs the token
 * itself, decides in the end.
 */
export function createSignatures(options: SignatureOptions): Signatures {
  return createSignatureCheck(options, exactMessages)
}

type SignatureOptions = RpcSource & {
  network: Network
  /**
   * Wallets that may not be deployed yet (EIP-6492): the accepted factories, and whether the facilitator deploys such
   * wallets.
   */
  wallets?: { factories: readonly Address[]; deployedByOthers: boolean }
}

/** The same for the messages of any scheme. */
export function createSignatureCheck<S extends SignedBy>(
  { network, wallets = { factories: [], deployedByOthers: false }, ...source }: SignatureOptions,
  { digest: createDigest, isEncodable: fits }: SignedMessages<S>,
): Signatures<S> {
  const rpc = rpcOf(source)
  const curve = loadCurve()
  const loaded = loadKeccak().then((keccak) => ({
    digestOf: createDigest(network, keccak),
    recoverSigner: createSignerRecovery(curve, keccak),
  }))

  async function codeAgrees({ from, signature }: SignedBy, digest: Hex): Promise<boolean> {
    const request = { to: from, data: encodeIsValidSignature(digest, signature), gas: toQuantity(ALONE_GAS) }
    const answer = await rpc.attempt('eth_call', [request, 'latest'])
    if (answer.ok) return readHex(answer.result, 'isValidSignature answer').startsWith(EIP1271_AGREED)
    if (isRevert(answer.error)) return false
    throw new UnavailableError(`the RPC (isValidSignature: ${answer.error.message})`)
  }

  /**
   * Deploys the wallet and asks it in one `eth_call`, which changes nothing. Calldata that a buyer composed is never
   * sent as a transaction.
   */
  async function futureCodeAgrees(from: Address, { factory, deploy, signature }: Wrapped, digest: Hex) {
    const calls = [
      { to: factory, data: deploy },
      { to: from, data: encodeIsValidSignature(digest, signature) },
    ]
    const request = { to: MULTICALL3, data: encodeAggregate3(calls), gas: toQuantity(DEPLOY_CALL_GAS) }
    const answer = await rpc.attempt('eth_call', [request, 'latest'])
    if (!answer.ok) {
      if (isRevert(answer.error)) return false
      throw new UnavailableError(`the RPC (eth_call: ${answer.error.message})`)
    }
    const results = decodeAggregate3(readHex(answer.result, 'Multicall3 answer'), calls.length)
    return results?.[1]?.ok === true && results[1].data.startsWith(EIP1271_AGREED)
  }

  /** EIP-6492. Only factories that the seller configured are accepted; a wallet that is deployed needs none. */
  async function checkWrapped(auth: S): ReturnType<Signatures['check']> {
    const wrapped = unwrap(auth.signature)
    if (!wrapped) return { invalid: 'the signature ends like an EIP-6492 wrapper and is none' }
    const { from } = auth
    const first = `deploy the wallet ${from} first, then sign again`
    if (!wallets.factories.includes(wrapped.factory)) {
      return { invalid: `EIP-6492 signatures of factory ${wrapped.factory} are not accepted: ${first}` }
    }
    if (!fits(auth)) return { invalid: TOO_LARGE }
    const { digestOf } = await loaded
    const digest = bytesToHex(digestOf(auth))
    const refusal = { invalid: `the wallet contract ${from} does not accept this signature (EIP-6492)` }
    if (readHex(await rpc.call('eth_getCode', [from, 'latest']), 'code') !== '0x') {
      const { signature } = wrapped
      return (await codeAgrees({ from, signature }, digest)) ? { unwrapped: signature } : refusal
    }
    if (!wallets.deployedByOthers) {
      return { invalid: `this gateway deploys no wallets (EIP-6492): ${first}` }
    }
    return (await futureCodeAgrees(from, wrapped, digest)) ? 'contract' : refusal
  }

  return {
    async check(auth) {
      if (isWrapped(auth.signature)) return checkWrapped(auth)
      if (!fits(auth)) return { invalid: TOO_LARGE }
      const { digestOf, recoverSigner } = await loaded
      const digest = digestOf(auth)
      const recovered = recover(recoverSigner, digest, auth)
      if (recovered === 'payer') return 'eoa'
      const code = readHex(await rpc.call('eth_getCode', [auth.from, 'latest']), 'code')
      if (code === '0x') return recovered
      if (await codeAgrees(auth, bytesToHex(digest))) return 'contract'
      return { invalid: `the wallet contract ${auth.from} does not accept this signature (EIP-1271)` }
    },

    async hasSigned(from, text, signature, mayAskCode = () => true) {
      const { recoverSigner } = await loaded
      const digest = hashMessage(text, 'bytes')
      if (recover(recoverSigner, digest, { from, signature }) === 'payer') return true
      if (!mayAskCode()) return false
      const code = readHex(await rpc.call('eth_getCode', [from, 'latest']), 'code')
      return code !== '0x' && (await codeAgrees({ from, signature }, bytesToHex(digest)))
    },
  }
}

function recover(
  recoverSigner: RecoverSigner,
  digest: Uint8Array,
  { from, signature }: SignedBy,
): 'payer' | { invalid: string } {
  const length = (signature.length - 2) / 2
  if (length !== 65) return { invalid: `the signature of a plain account has 65 bytes, this one ${length}` }
  const v = Number.parseInt(signature.slice(130), 16)
  // The token's rule; viem would also accept v = 0 or 1.
  if (v !== 27 && v !== 28) return { invalid: `the signature's v is ${v}; it must be 27 or 28` }
  if (BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) {
    return { invalid: "the signature's s is in the upper half of the curve order; use the low-s form" }
  }
  const signer = recoverSigner(digest, signature)
  if (signer === from) return 'payer'
  if (signer === undefined) return { invalid: 'the signature is no point on the curve' }
  return {
    invalid: `the signature is of ${signer}, not of the payer ${from}; check the EIP-712 domain and every field`,
  }
}
