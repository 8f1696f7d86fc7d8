import { createHash } from 'node:crypto'
import type { RefundSigner, TxSigner } from '../../src/ports.ts'
import { address, PAY_TO, REFUND_WALLET } from './world.ts'

/** Secrets that no history may print. Each is unique, so that a leak shows its source. */
const secretOf = (what: string): Buffer => createHash('sha256').update(`the secret of ${what}`).digest()

export const ID_KEY = new Uint8Array(secretOf('challenge ids'))

const privateKeys = new Map<string, string>()

/** Remembered, because every start of an instance asks for those of all its wallets. */
function privateKeyOf(address: string): string {
  const known = privateKeys.get(address)
  if (known !== undefined) return known
  const key = `0x${secretOf(address).toString('hex')}`
  privateKeys.set(address, key)
  return key
}

/** Like a real signer it has its key as a property, so that printing the whole object would leak it. */
export function withPrivateKey<S extends TxSigner | RefundSigner>(signer: S): S & { privateKey: string } {
  return { ...signer, privateKey: privateKeyOf(signer.address) }
}

const id = Buffer.from(ID_KEY)
const wallets = [PAY_TO, REFUND_WALLET, address('gaswallt', 1), address('gaswallt', 2)]

/** Every key, in all usual encodings. */
export const KEYS: readonly string[] = [
  id.toString('hex'),
  id.toString('base64').replace('=', ''),
  id.toString('base64url'),
  id.join(','),
  // A typed array in JSON.
  JSON.stringify(ID_KEY).slice(1, -1),
  ...wallets.map((wallet) => privateKeyOf(wallet).slice(2)),
]
