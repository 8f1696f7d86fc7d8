import { type ChainClient, createChainClient } from '../chain/chain-client.ts'
import { createDomainCheck } from '../chain/check-domain.ts'
import { createRpcPace } from '../chain/rpc-pace.ts'
import type { ResolvedConfig, SettlementConfig } from '../config/resolved-config.ts'
import { ConfigError } from '../errors.ts'
import type { Alerts, Clock, Rail, RefundSigner, Store, Turns } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { railId } from '../rules/rail-id.ts'
import { createExactScheme } from '../schemes/exact/create-exact-scheme.ts'
import { createTransferSearch } from '../schemes/exact/find-transfers.ts'
import { createSignatures } from '../schemes/exact/signatures.ts'
import { createSubmitters } from '../settlement/submitters.ts'

export interface BuiltRail {
  rail: Rail
  client: ChainClient
  gasWallets: Address[]
  /** Rejects with the reason while the token differs from the table or the chain cannot be reached. */
  chainReady(): Promise<void>
  /** Rejects with the reason while nothing can be sent. */
  settlementReady(): Promise<void>
}

interface Parts {
  store: Store
  alerts: Alerts
  clock: Clock
  turns: Turns | undefined
}

/** Called before the store is opened: a token whose domain differs from the table would refuse every signature. */
export async function connectChain({ network }: ResolvedConfig, alerts: Alerts) {
  const pace = createRpcPace()
  const client = createChainClient({ rpcUrl: network.rpcUrl, network, pace })
  const domain = createDomainCheck(network, client)
  const atBoot = await domain.check()
  if (atBoot.kind === 'mismatch') throw new ConfigError(atBoot.faults)
  if (atBoot.kind === 'unreachable') {
    // Only the host: RPC URLs often contain an API key.
    alerts.raise('chain-unreachable', `${new URL(network.rpcUrl).host} does not answer; payments wait`)
  }
  return { client, domain, pace }
}

/** USDC on the configured network by scheme `exact`. Modules that hold keys or use HTTP are loaded only if needed. */
export async function buildRail(
  config: ResolvedConfig,
  { client, domain, pace }: Awaited<ReturnType<typeof connectChain>>,
  parts: Parts,
): Promise<BuiltRail> {
  const { network, settlement: way } = config
  const signatures = createSignatures({
    rpcUrl: network.rpcUrl,
    network,
    pace,
    wallets: {
      factories: config.allowedWalletFactories,
      deployedByOthers: way.kind === 'facilitator',
    },
  })
  const scheme = createExactScheme(client, signatures)
  const built = await buildSubmitters(config, { ...parts, chainId: network.chainId, chain: client })
  const refundSigner = await buildRefundSigner(config)
  const rail: Rail = {
    id: railId(network, scheme.name),
    network,
    payTo: config.walletAddress,
    confirmations: config.confirmations,
    scheme,
    chain: client,
    settlement: domain.guard(built.settlement),
    refundSubmitters: built.refundSubmitters.map(domain.guard),
    ...(refundSigner && { refundSigner }),
    transfers: createTransferSearch(client.rpc, network.token.address),
    hasSigned: signatures.hasSigned,
  }
  return {
    rail,
    client,
    gasWallets: built.gasWallets,
    chainReady: domain.ready,
    settlementReady: built.ready,
  }
}

/** Gas wallets or a facilitator, and the wallet that refunds. */
async function buildSubmitters(
  { settlement, network, refundWalletPrivateKey }: ResolvedConfig,
  parts: Parts & { chainId: number; chain: ChainClient },
) {
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
  const { createExactSigner } = await import('../schemes/exact/exact-signer.ts')
  return keys.map((key) => createExactSigner(key, network))
}

async function buildRefundSigner({
  refundWalletPrivateKey,
  network,
}: ResolvedConfig): Promise<RefundSigner | undefined> {
  if (!refundWalletPrivateKey) return undefined
  const { createRefundSigner } = await import('../schemes/exact/refund-signer.ts')
  return createRefundSigner(refundWalletPrivateKey, network)
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
