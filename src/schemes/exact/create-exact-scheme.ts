import type { ChainClient } from '../../chain/chain-client.ts'
import type { Scheme } from '../../ports.ts'
import type { SignedAuthorization } from './authorization.ts'
import { exactRules } from './exact-rules.ts'
import { createUseSearch } from './find-uses.ts'
import type { Signatures } from './signatures.ts'
import { createSimulation } from './simulate.ts'
import { endlessFault } from './validity.ts'

/**
 * Scheme `exact` by EIP-3009: the payer signs a transfer of exactly the price to the seller. Anybody may submit it,
 * and the token executes it once.
 */
export function createExactScheme(
  client: ChainClient,
  { check }: Pick<Signatures, 'check'>,
): Scheme<SignedAuthorization> {
  const { network, rpc } = client
  const { uses, usesIfMined } = createUseSearch(client)
  return {
    ...exactRules(network),
    async verify(signed) {
      const endless = endlessFault(signed)
      if (endless !== undefined) return { endless }
      const checked = await check(signed)
      if (typeof checked === 'string') return { signed, byKey: checked === 'eoa' }
      if ('invalid' in checked) return checked
      return { signed: { ...signed, signature: checked.unwrapped }, byKey: false }
    },
    simulate: createSimulation(rpc, network, client.lastWalletState),
    uses,
    usesIfMined,
  }
}
