import { createTxSigner } from '../chain/tx-signer.ts'
import type { TxSigner } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { SignedAuthorization } from './exact/authorization.ts'
import { type BatchContract, encodeTransfers } from './exact/encode-transfers.ts'
import { encodeSettle, isPermit } from './upto/settle-call.ts'

/** Signs a gas wallet's transactions: transfers of the token, or the settlement of one metered payment. */
export function createWalletSigner(
  privateKey: Hex,
  network: Network,
  batchesBy: BatchContract = 'multicall3',
): TxSigner {
  return createTxSigner(privateKey, network, (payments) => {
    const [first] = payments
    if (!first || !isPermit(first))
      return encodeTransfers(network.token.address, payments as readonly SignedAuthorization[], batchesBy)
    if (payments.length > 1) throw new Error('a metered payment shares no transaction')
    return encodeSettle(first)
  })
}
