import type { Address } from '../../src/protocol/hex.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import type { SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import type { DevAccount } from '../../src/testing/dev-chain.ts'
import { signAuthorization } from '../../src/testing/sign.ts'

const network = findNetwork('testnet')!
export const SELLER: Address = '0x00000000000000000000000000000000000000aa'

/** An authorization of 1,000 micro-dollars to the seller, as the gateway stores it. */
export async function signTransfer(
  buyer: DevAccount,
  overrides: Parameters<typeof signAuthorization>[0]['overrides'] = {},
): Promise<SignedAuthorization> {
  const requirements = {
    scheme: 'exact',
    network: network.id,
    asset: network.token.address,
    amount: '1000',
    payTo: SELLER,
    maxTimeoutSeconds: 900,
    extra: { ...network.token.domain },
  }
  const signed = await signAuthorization({ account: buyer.account, requirements, overrides })
  const { authorization, signature } = signed
  return { ...authorization, from: authorization.from.toLowerCase() as Address, signature }
}
