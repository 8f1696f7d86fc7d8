import type { Network } from '../../protocol/network.ts'
import { UPTO_SCHEME } from '../../protocol/permit2.ts'
import { MAX_VALIDITY_SECONDS, MIN_VALIDITY_SECONDS } from '../exact/validity.ts'
import { isSamePermit, parsePermit, permitKey, type SignedPermit } from './permit.ts'
import { settledAmount } from './settle-call.ts'

/** The part of scheme `upto` that needs no chain. */
export function uptoRules({ chainId }: Pick<Network, 'chainId'>) {
  return {
    name: UPTO_SCHEME,
    parse: parsePermit,
    factsOf: (permit: SignedPermit) => ({
      key: permitKey(chainId, permit.from, permit.nonce),
      payer: permit.from,
      to: permit.to,
      amount: settledAmount(permit),
      // Permit2 takes a permit in the second of its deadline too; EIP-3009 does not at validBefore.
      validBefore: (BigInt(permit.deadline) + 1n).toString(),
      signature: permit.signature,
      sender: permit.facilitator,
    }),
    isSame: isSamePermit,
    validityFault,
    metered: { charged: (permit: SignedPermit, charge: string): SignedPermit => ({ ...permit, charge }) },
  }
}

function validityFault({ validAfter, deadline }: SignedPermit, chainTime: number): string | undefined {
  const now = BigInt(chainTime)
  if (BigInt(validAfter) > now) {
    return `witness.validAfter ${validAfter} is not past yet at chain time ${chainTime}; sign with validAfter 0`
  }
  if (BigInt(deadline) < now + BigInt(MIN_VALIDITY_SECONDS)) {
    return `deadline ${deadline} is less than ${MIN_VALIDITY_SECONDS} s ahead of chain time ${chainTime}`
  }
  if (BigInt(deadline) > now + BigInt(MAX_VALIDITY_SECONDS)) {
    return `deadline ${deadline} is more than ${MAX_VALIDITY_SECONDS} s ahead of chain time ${chainTime}`
  }
  return undefined
}
