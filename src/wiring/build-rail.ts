import { type ChainClient, createChainClient } from '../chain/chain-client.ts'
import { meteredFaults, multicallFaults } from '../chain/check-contracts.ts'
import { createDomainCheck } from '../chain/check-domain.ts'
import { settlerFaults } from '../chain/check-settler.ts'
import { gasPolicyOf } from '../chain/gas-fees.ts'
import { hasCode } from '../chain/read-domain.ts'
import type { Rpc } from '../chain/rpc.ts'
import { createRpcPool } from '../chain/rpc-pool.ts'
import { type NetworkBalances, readBalances, type WalletRole } from '../chain/wallet-balances.ts'
import type { NetworkConfig, SettlementConfig } from '../config/resolved-config.ts'
import type { Alerts, Clock, Rail, RefundSigner, Store, Turns } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { railId } from '../rules/rail-id.ts'
import { createExactScheme } from '../schemes/exact/create-exact-scheme.ts'
import type { BatchContract } from '../schemes/exact/encode-transfers.ts'
import { createTransferSearch } from '../schemes/exact/find-transfers.ts'
import { createSignatures } from '../schemes/exact/signatures.ts'
import { createUptoScheme } from '../schemes/upto/create-upto-scheme.ts'
import { createSubmitters } from '../settlement/submitters.ts'
import { createWalletCode, type WalletCode } from './contract-faults.ts'

export interface BuiltRail {
  rail: Rail
  client: ChainClient
  gasWallets: Address[]
  /** Rejects with the reason while the token differs from the table or the chain cannot be reached. */
  chainReady(): Promise<void>
  /** Rejects with the reason while nothing can be sent. */
  settlementReady(): Promise<void>
  /** The same network by scheme `upto`; undefined without a gas wallet. */
  meteredRail(): Rail | undefined
}

interface Parts {
  store: Store
  alerts: Alerts
  clock: Clock
  turns: Turns | undefined
}

/** A chain that does not answer must not hold up the boot for longer than this. */
const CONNECT_MS = 2_000

/**
 * Called before the store is opened: a token whose domain differs from the table would refuse every signature. What
 * cannot be asked now is asked again before anything is settled.
 */
export async function connectChain(
  on: NetworkConfig,
  { alerts, clock }: Pick<Parts, 'alerts' | 'clock'>,
  { isMetered = false, wallets = createWalletCode([on]) }: { isMetered?: boolean; wallets?: WalletCode } = {},
) {
  const { network, walletAddress, settlement, labels } = on
  const rpc = createRpcPool(network, undefined, {
    now: clock.now,
    onLeftOut: (host, reason) =>
      alerts.raise('chain-inconsistent', `${host} of ${network.name} is left out: it ${reason}`),
  })
  const client = createChainClient({ rpc, network, now: clock.now })
  const lacks = async (node: Rpc) => {
    wallets.note(on, await hasCode(node, walletAddress))
    const lacking = await Promise.all([
      multicallFaults(node, network),
      usesSettler(settlement) ? settlerFaults(node, network, labels.settlerContract) : [],
      isMetered ? meteredFaults(node, network) : [],
    ])
    return lacking.flat()
  }
  const domain = createDomainCheck(network, labels.rpcUrl, rpc, lacks, () => wallets.faultsOf(on))
  const late = clock.sleep(CONNECT_MS).then(() => ({ kind: 'unreachable' }) as const)
  const atBoot = await Promise.race([domain.check(), late])
  if (atBoot.kind === 'unreachable') {
    // Only the hosts: RPC URLs often contain an API key.
    const hosts = rpc.nodes.map(({ host }) => host).join(', ')
    alerts.raise('chain-unreachable', `${network.name} (${hosts}) does not answer; payments on it wait`)
  }
  return {
    client,
    domain,
    faults: atBoot.kind === 'mismatch' ? atBoot.faults : [],
    isSilent: atBoot.kind === 'unreachable',
  }
}

const usesSettler = (way: SettlementConfig): boolean => way.kind === 'gas-wallet' && way.settler === true

/** The token of a network by scheme `exact`. Modules that hold keys or use HTTP are loaded only if needed. */
export async function buildRail(
  on: NetworkConfig,
  allowedWalletFactories: readonly Address[],
  {
    client,
    domain,
    isSilent,
  }: Pick<Awaited<ReturnType<typeof connectChain>>, 'client' | 'domain' | 'isSilent'>,
  parts: Parts,
): Promise<BuiltRail> {
  const { network, settlement: way } = on
  const signatures = createSignatures({
    rpc: client.rpc,
    network,
    wallets: {
      factories: allowedWalletFactories,
      deployedByOthers: way.kind === 'facilitator',
    },
  })
  const scheme = createExactScheme(client, signatures)
  const built = await buildSubmitters(on, { ...parts, chainId: network.chainId, chain: client })
  const refundSigner = await buildRefundSigner(on)
  const rail: Rail = {
    id: railId(network, scheme.name),
    network,
    payTo: on.walletAddress,
    confirmations: network.confirmations,
    scheme,
    chain: client,
    isSilent,
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
    meteredRail: () => meteredRailOf(rail, client, built.gasWallets, allowedWalletFactories),
  }
}

/** Metered calls share everything with the exact rail of their network except the scheme; refunds are its own. */
function meteredRailOf(
  exact: Rail,
  client: ChainClient,
  gasWallets: readonly Address[],
  allowedWalletFactories: readonly Address[],
): Rail | undefined {
  if (gasWallets.length === 0) return undefined
  const scheme = createUptoScheme(client, gasWallets, allowedWalletFactories)
  return {
    ...exact,
    id: railId(exact.network, scheme.name),
    scheme,
    // The proxy takes one payment per transaction.
    settlement: { ...exact.settlement, batchSize: 1 },
    settlers: gasWallets,
    refundsBy: exact.id,
  }
}

/** What the seller's wallets hold on this network. */
export async function balancesOn({ rail, client, gasWallets }: BuiltRail): Promise<NetworkBalances> {
  const { network, payTo, refundSigner } = rail
  const wallets: Array<{ role: WalletRole; address: Address }> = [
    { role: 'receives', address: payTo },
    ...gasWallets.map((address) => ({ role: 'gas' as const, address })),
    ...(refundSigner ? [{ role: 'refund' as const, address: refundSigner.address }] : []),
  ]
  try {
    return { network, wallets: await readBalances(client, wallets) }
  } catch {
    return { network, wallets: null }
  }
}

/** Gas wallets or a facilitator, and the wallet that refunds. */
async function buildSubmitters(
  { settlement, network, refundWalletPrivateKey }: NetworkConfig,
  parts: Parts & { chainId: number; chain: ChainClient },
) {
  const shared = { ...parts, gas: gasPolicyOf(network) }
  const batchesBy = usesSettler(settlement) ? 'settler' : 'multicall3'
  const [refundWallet] = refundWalletPrivateKey
    ? await signersOf([refundWalletPrivateKey], network, batchesBy)
    : []
  if (settlement.kind === 'gas-wallet') {
    const signers = await signersOf(settlement.privateKeys, network, batchesBy)
    const built = createSubmitters(shared, { kind: 'gas-wallet', signers }, refundWallet)
    const ready = async () => {
      const fault = await built.settlement.unavailable()
      if (fault) throw new Error(fault)
    }
    return { ...built, gasWallets: signers.map(({ address }) => address), ready }
  }
  const facilitator = await buildFacilitator(settlement, network)
  return {
    ...createSubmitters(shared, { kind: 'facilitator', facilitator }, refundWallet),
    gasWallets: [],
    ready: async () => void (await facilitator.supported()),
  }
}

async function signersOf(keys: readonly Hex[], network: Network, batchesBy: BatchContract) {
  const { createWalletSigner } = await import('../schemes/wallet-signer.ts')
  return keys.map((key) => createWalletSigner(key, network, batchesBy))
}

async function buildRefundSigner({
  refundWalletPrivateKey,
  network,
}: NetworkConfig): Promise<RefundSigner | undefined> {
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
