import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { Alerts, Chain, Clock, Settlement, Store, Turns } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'

/** Gas wallets or a facilitator. Only what is used is loaded. */
export async function buildSettlement(
  { settlement, network }: ResolvedConfig,
  parts: { chain: Chain; store: Store; alerts: Alerts; clock: Clock; turns: Turns | undefined },
): Promise<{ settlement: Settlement; gasWallets: Address[]; ready(): Promise<void> }> {
  if (settlement.kind === 'gas-wallet') {
    const [{ createGasWallet }, { createTxSigner }] = await Promise.all([
      import('../settlement/gas-wallet.ts'),
      import('../settlement/tx-signer.ts'),
    ])
    const signers = settlement.privateKeys.map((key) => createTxSigner(key, network))
    const gasWallet = createGasWallet({ ...parts, signers })
    const ready = async () => {
      const fault = await gasWallet.unavailable()
      if (fault) throw new Error(fault)
    }
    return { settlement: gasWallet, gasWallets: signers.map(({ address }) => address), ready }
  }
  const [{ createFacilitator }, { createFacilitatorSettlement }, { createCdpAuthHeaders }] =
    await Promise.all([
      import('../settlement/facilitator-client.ts'),
      import('../settlement/facilitator-settlement.ts'),
      import('../settlement/cdp-auth.ts'),
    ])
  const { url, auth } = settlement
  const createAuthHeaders =
    auth.kind === 'cdp'
      ? createCdpAuthHeaders({ url, ...auth })
      : auth.kind === 'headers'
        ? auth.createAuthHeaders
        : undefined
  const facilitator = createFacilitator({ url, network, ...(createAuthHeaders && { createAuthHeaders }) })
  return {
    settlement: createFacilitatorSettlement(facilitator),
    gasWallets: [],
    ready: async () => void (await facilitator.supported()),
  }
}
