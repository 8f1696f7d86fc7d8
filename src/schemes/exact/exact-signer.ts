import { createTxSigner } from '../../chain/tx-signer.ts'
import type { TxSigner } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import type { Network } from '../../protocol/network.ts'
import type { SignedAuthorization } from './authorization.ts'
import { encodeTransfers } from './encode-transfers.ts'

/** Signs a gas wallet's transactions with payments of scheme `exact`, and nothing else. */
export function createExactSigner(privateKey: Hex, network: Network): TxSigner {
  return createTxSigner(privateKey, network, (payments) =>
    encodeTransfers(network.token.address, payments as readonly SignedAuthorization[]),
  )
}
