import type { ResolvedConfig, SettlementConfig } from '../config/resolved-config.ts'
import type { Alerts, Chain, Clock, Settlement, Store, Turns } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { createSubmitters } from '../settlement/submitters.ts'

export interface BuiltSettlement {
  settlement: Settlement
  /** In the order in which they are asked. */
  refundSubmitters: readonly Settlement[]
  gasWallets: Address[]
  ready(): Promise<void>
}

/** Gas wallets or a facilitator, and the wallet that refunds. What holds keys or speaks HTTP is loaded where it is used. */
export async function buildSettlement(
  { settlement, network, refundWalletPrivateKey }: ResolvedConfig,
  parts: { chain: Chain; store: Store; alerts: Alerts; clock: Clock; turns: Turns | undefined },
): Promise<BuiltSettlement> {
  const [refundWallet] = refundWalletPrivateKey ? await signersOf([refundWalletPrivateKey], network) : []
  if (settlement.kind === 'gas-wallet') {
    const signers = await signersOf(settlement.privateKeys, network)
    const built = createSubmitters(parts, { kind: 'gas-wallet', signers }, refundWallet)
    const ready = async () => {
      const fault = await built.settlement.unavailable()
      if (fault) throw new Error(fault)
    }
    return { ...built, gasWallets: signers.map(({ address }) => address), ready }
  }
  const facilitator = await buildFacilitator(settlement, network)
  return {
    ...createSubmitters(parts, { kind: 'facilitator', facilitator }, refundWallet),
    gasWallets: [],
    ready: async () => void (await facilitator.supported()),
  }
}

async function signersOf(keys: readonly Hex[], network: Network) {
  const { createTxSigner } = await import('../settlement/tx-signer.ts')
  return keys.map((key) => createTxSigner(key, network))
}

async function buildFacilitator(
  { url, auth }: Extract<SettlementConfig, { kind: 'facilitator' }>,
  network: Network,
) {
  const [{ createFacilitator }, { createCdpAuthHeaders }] = await Promise.all([
    import('../settlement/facilitator-client.ts'),
    import('../settlement/cdp-auth.ts'),
  ])
  const createAuthHeaders =
    auth.kind === 'cdp'
      ? createCdpAuthHeaders({ url, ...auth })
      : auth.kind === 'headers'
        ? auth.createAuthHeaders
        : undefined
  return createFacilitator({ url, network, ...(createAuthHeaders && { createAuthHeaders }) })
}
