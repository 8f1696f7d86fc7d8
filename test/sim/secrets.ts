import { createHash } from 'node:crypto'
import type { RefundSigner, TxSigner } from '../../src/ports.ts'
import { address, PAY_TO, REFUND_WALLET } from './world.ts'

/** Secrets that no history may ever print. Each is a text of its own, so that whoever prints it is found out. */
const secretOf = (what: string): Buffer => createHash('sha256').update(`the secret of ${what}`).digest()

export const ID_KEY = new Uint8Array(secretOf('challenge ids'))

const privateKeyOf = (address: string): string => `0x${secretOf(address).toString('hex')}`

/** As real signers do, it keeps its key within reach of whoever prints the whole of it. */
export function withPrivateKey<S extends TxSigner | RefundSigner>(signer: S): S & { privateKey: string } {
  return { ...signer, privateKey: privateKeyOf(signer.address) }
}

const id = Buffer.from(ID_KEY)
const wallets = [PAY_TO, REFUND_WALLET, address('gaswallt', 1), address('gaswallt', 2)]

/** Every key, in every way that one is usually written down. */
export const KEYS: readonly string[] = [
  id.toString('hex'),
  id.toString('base64').replace('=', ''),
  id.toString('base64url'),
  id.join(','),
  // A typed array in JSON.
  JSON.stringify(ID_KEY).slice(1, -1),
  ...wallets.map((wallet) => privateKeyOf(wallet).slice(2)),
]
