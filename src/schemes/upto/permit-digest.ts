import { addressWord, word } from '../../chain/abi-words.ts'
import type { Keccak } from '../../chain/keccak.ts'
import { PERMIT2_ADDRESS } from '../../protocol/permit2.ts'
import type { SignedPermit } from './permit.ts'

const DOMAIN_TYPE = 'EIP712Domain(string name,uint256 chainId,address verifyingContract)'
const PERMISSIONS_TYPE = 'TokenPermissions(address token,uint256 amount)'
const WITNESS_TYPE = 'Witness(address to,address facilitator,uint256 validAfter)'
const PERMIT_TYPE = `PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)${PERMISSIONS_TYPE}${WITNESS_TYPE}`

/**
 * The EIP-712 digest of a permit, made by hand for the reason that {@link createAuthorizationDigest} gives. A test
 * compares it with viem.
 */
export function createPermitDigest(
  { chainId }: { chainId: number },
  keccak: Keccak,
): (permit: SignedPermit) => Uint8Array {
  const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  const hashText = (text: string): string => hexOf(keccak(Buffer.from(text)))
  const hashWords = (words: string): Uint8Array => keccak(Buffer.from(words, 'hex'))
  const domain = hashWords(
    hashText(DOMAIN_TYPE) + hashText('Permit2') + word(chainId) + addressWord(PERMIT2_ADDRESS),
  )
  const [permitType, permissionsType, witnessType] = [PERMIT_TYPE, PERMISSIONS_TYPE, WITNESS_TYPE].map(
    hashText,
  ) as [string, string, string]

  return ({ token, amount, spender, nonce, deadline, to, facilitator, validAfter }) => {
    const permitted = hexOf(hashWords(permissionsType + addressWord(token) + word(BigInt(amount))))
    const witness = hexOf(
      hashWords(witnessType + addressWord(to) + addressWord(facilitator) + word(BigInt(validAfter))),
    )
    const struct = hashWords(
      permitType + permitted + addressWord(spender) + word(BigInt(nonce)) + word(BigInt(deadline)) + witness,
    )
    const message = new Uint8Array(66)
    message.set([0x19, 0x01])
    message.set(domain, 2)
    message.set(struct, 34)
    return keccak(message)
  }
}
