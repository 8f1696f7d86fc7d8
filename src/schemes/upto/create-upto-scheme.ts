import type { ChainClient } from '../../chain/chain-client.ts'
import type { Scheme } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { PERMIT2_METHOD, UPTO_PROXY_ADDRESS } from '../../protocol/permit2.ts'
import { createSignatureCheck } from '../exact/signatures.ts'
import { createSettlementSearch } from './find-settlements.ts'
import { isEncodable, type SignedPermit } from './permit.ts'
import { createPermitDigest } from './permit-digest.ts'
import { createUptoSimulation } from './simulate.ts'
import { uptoRules } from './upto-rules.ts'

/**
 * Scheme `upto` by Permit2: the payer signs a maximum for the seller, to be settled by one wallet of ours and by
 * nobody else. Offers name the first of `wallets` that can pay for gas.
 */
export function createUptoScheme(
  client: ChainClient,
  wallets: readonly Address[],
  factories: readonly Address[] = [],
): Scheme<SignedPermit> {
  const { network, rpc } = client
  const { check } = createSignatureCheck(
    { rpc, network, wallets: { factories, deployedByOthers: false } },
    { digest: createPermitDigest, isEncodable },
  )
  const [facilitatorAddress] = wallets
  if (!facilitatorAddress) throw new Error('scheme upto needs a gas wallet')
  const rules = uptoRules(network)
  const { findSettlement, ...search } = createSettlementSearch(client)
  return {
    ...rules,
    metered: { ...rules.metered, findSettlement },
    offerExtra: (wallet = facilitatorAddress) => ({
      assetTransferMethod: PERMIT2_METHOD,
      facilitatorAddress: wallet,
    }),
    async verify(signed) {
      const { spender, facilitator } = signed
      if (spender !== UPTO_PROXY_ADDRESS) return misnamed('spender', spender, UPTO_PROXY_ADDRESS)
      if (!wallets.includes(facilitator))
        return misnamed('witness.facilitator', facilitator, facilitatorAddress)
      const checked = await check(signed)
      if (typeof checked === 'string') return { signed, byKey: checked === 'eoa' }
      if ('invalid' in checked) return checked
      return { signed: { ...signed, signature: checked.unwrapped }, byKey: false }
    },
    simulate: createUptoSimulation(client),
    ...search,
  }
}

const misnamed = (field: string, given: Address, expected: Address) => ({
  invalid: `permit2Authorization.${field} is ${given}; expected ${expected}`,
})
