import { createTxSigner } from '../../src/chain/tx-signer.ts'
import type { TxSigner } from '../../src/ports.ts'
import type { Hex } from '../../src/protocol/hex.ts'
import type { Network } from '../../src/protocol/network.ts'
import type { SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import { encodeTransfers } from '../../src/schemes/exact/encode-transfers.ts'

/** A gas wallet's signer for payments by scheme `exact`, as the gateway makes it. */
export function createExactSigner(privateKey: Hex, { chainId, token }: Network): TxSigner {
  return createTxSigner(privateKey, chainId, (payments) =>
    encodeTransfers(token.address, payments as readonly SignedAuthorization[]),
  )
}
