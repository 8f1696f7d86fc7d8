import { firstFees } from '../chain/gas-fees.ts'
import { ALONE_GAS, GAS_PER_CALL, MAX_CALLS_PER_TX, MAX_TX_GAS, OVERHEAD_GAS } from '../chain/gas-limits.ts'
import { UnavailableError } from '../errors.ts'
import type {
  Alerts,
  Batch,
  Chain,
  Clock,
  Sendable,
  Sent,
  Settlement,
  Store,
  Turns,
  TxSigner,
  WalletTxRow,
} from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { createLane, type Lane, walletRef, walletTxKey } from './gas-lane.ts'
import { groupCalls } from './group-calls.ts'
import { createTransactionKeeper, type GasSettings } from './transaction-keeper.ts'

/**
 * Settlement by the seller's own gas wallets: payments are put into as few transactions as their members allow,
 * signed, stored in the step that marks the members BROADCAST, and only then sent. Nothing waits for receipts. The
 * transaction keeper handles what was stored and never sent, or is stuck.
 */
export function createGasWallet({
  chainId,
  chain,
  store,
  clock,
  alerts,
  signers,
  turns,
  gasPerCall = GAS_PER_CALL,
  maxCallsPerTx = MAX_CALLS_PER_TX,
  maxFeePerGasWei = 5_000_000_000n,
  bumpAfterMs = 12_000,
  maxTxGas = MAX_TX_GAS,
  symbol = 'ETH',
  faucet,
  alsoKeeps = [],
}: {
  chainId: number
  chain: Chain
  store: Store
  clock: Clock
  alerts: Alerts
  signers: readonly TxSigner[]
  turns?: Turns | undefined
  gasPerCall?: number
  maxCallsPerTx?: number
  maxFeePerGasWei?: bigint
  bumpAfterMs?: number
  /** The most that one transaction may ask for. */
  maxTxGas?: number
  /** The coin that pays for gas. */
  symbol?: string
  /** Where that coin is free, on a test network. */
  faucet?: string
  /** Lanes of another wallet on this chain whose transactions are also maintained here. */
  alsoKeeps?: readonly Lane[]
}): Settlement & { lanes: readonly Lane[] } {
  const lanes = signers.map((signer) => createLane(signer, { chainId, chain, store, clock, turns }))
  const maxCalls = Math.max(1, Math.min(maxCallsPerTx, Math.floor((maxTxGas - OVERHEAD_GAS) / gasPerCall)))
  const gasOf = (calls: number): number => OVERHEAD_GAS + calls * gasPerCall
  const settings: GasSettings = { maxFeePerGasWei, bumpAfterMs, fillGas: gasOf(0) }
  const keeper = createTransactionKeeper({
    chainId,
    chain,
    store,
    clock,
    alerts,
    lanes: [...lanes, ...alsoKeeps],
    settings,
  })
  /** Wallets that the operator was told are empty. */
  const alerted = new Set<Address>()
  let fundedWallet = signers[0]?.address

  /** The lanes that can be read, each with the highest cost of a full transaction. */
  async function survey() {
    const surveyed = await Promise.all(
      lanes.map(async (lane) => {
        const state = await lane.state().catch(() => undefined)
        if (!state) return []
        const { balanceWei } = state
        const { maxFeePerGas } = firstFees(state, maxFeePerGasWei)
        const needWei = maxFeePerGas * BigInt(gasOf(maxCalls))
        return [{ lane, balanceWei, maxFeePerGas, needWei, funded: balanceWei >= needWei }]
      }),
    )
    const entries = surveyed.flat()
    fundedWallet = (entries.find(({ funded }) => funded)?.lane ?? signers[0])?.address
    return entries
  }

  type Surveyed = Awaited<ReturnType<typeof survey>>[number]

  const holdings = ({ lane, balanceWei, needWei }: Surveyed): string =>
    `${lane.address} holds ${coins(balanceWei)} ${symbol}, a transaction may cost ${coins(needWei)}`

  function emptyWords(entries: readonly Surveyed[]): string {
    const free = faucet === undefined ? '' : `. Test ${symbol} is free at ${faucet}`
    return `the gas wallet is empty: ${entries.map(holdings).join('; ')}${free}`
  }

  /** One wallet may be empty while others settle, so each is told of by itself. */
  function tellChanges(entries: readonly Surveyed[]): void {
    for (const entry of entries) {
      const { lane, balanceWei, funded } = entry
      if (funded && alerted.delete(lane.address))
        alerts.raise(
          'gas-wallet-refilled',
          `${lane.address} holds ${coins(balanceWei)} ${symbol}: it settles payments again`,
        )
      if (funded || alerted.has(lane.address)) continue
      alerted.add(lane.address)
      alerts.raise('gas-wallet-empty', emptyWords([entry]))
    }
  }

  const gasOfGroup = (group: readonly Sendable[]): number =>
    group.some(({ alone }) => alone) ? (group[0]!.gas ?? ALONE_GAS) : gasOf(group.length)

  /**
   * Gives each group to the lane with the fewest transactions under way. A group that only one wallet may send is left
   * out while that wallet cannot pay for it: its payments stay as they are, and are tried again.
   */
  async function assign(groups: readonly Sendable[][]): Promise<Map<Lane, Sendable[][]>> {
    const surveyed = await survey()
    const funded = surveyed.filter((entry) => entry.funded)
    if (surveyed.length === 0) throw new UnavailableError('every gas wallet')
    const usable = funded.length > 0 ? funded : surveyed
    const loads = new Map(surveyed.map(({ lane }) => [lane, lane.load()]))
    const assigned = new Map<Lane, Sendable[][]>()
    for (const group of groups) {
      const sender = group[0]?.sender
      const gas = BigInt(gasOfGroup(group))
      const able =
        sender === undefined
          ? usable
          : surveyed.filter((one) => one.lane.address === sender && one.balanceWei >= one.maxFeePerGas * gas)
      if (able.length === 0) continue
      const { lane } = able.reduce((best, next) =>
        loads.get(next.lane)! < loads.get(best.lane)! ? next : best,
      )
      loads.set(lane, loads.get(lane)! + 1)
      assigned.set(lane, [...(assigned.get(lane) ?? []), group])
    }
    return assigned
  }

  async function makeBatch(lane: Lane, group: readonly Sendable[], nonce: number): Promise<Batch> {
    const calls = group.map(({ signed }) => signed)
    const members = group.map(({ member }) => member)
    const gas = gasOfGroup(group)
    const fees = firstFees(await lane.state(), maxFeePerGasWei)
    const { raw, hash } = await lane.signer.sign({ nonce, calls, gas, ...fees })
    const nowMs = clock.now()
    const row: WalletTxRow = {
      key: walletTxKey(chainId, lane.address, nonce),
      version: 0,
      ref: walletRef(chainId, lane.address),
      // If the process dies between the commit and the send, the keeper sends it at this time.
      dueAt: nowMs + bumpAfterMs,
      chainId,
      wallet: lane.address,
      nonce,
      calls,
      members,
      maxFeePerGas: fees.maxFeePerGas.toString(),
      maxPriorityFeePerGas: fees.maxPriorityFeePerGas.toString(),
      gas,
      raw,
      hashes: [hash],
      phase: 'SENT',
      createdAt: nowMs,
    }
    return {
      keys: members.map(({ key }) => key),
      puts: [{ table: 'walletTxs', row }],
      walletTx: row.key,
      send: (mayWait = false) => send(lane, { ...row, version: 1 }, mayWait),
      awaitsBlock: () => chain.awaitsBlocks?.() ?? false,
      drop: () => lane.release(nonce),
    }
  }

  async function send(lane: Lane, row: WalletTxRow, mayWait: boolean): Promise<Sent> {
    lane.confirm(row.nonce)
    try {
      let answer = await (mayWait && chain.submitAndWait
        ? chain.submitAndWait(row.raw)
        : chain.submit(row.raw))
      if (answer === 'underpriced') {
        lane.distrust()
        const raised = await keeper.raise(lane, row, await lane.state())
        if (raised) answer = await chain.submit(raised.raw)
      }
      // Another sender used this nonce: the cached state is out of date.
      if (answer === 'nonce-low') lane.distrust()
      if (answer === 'mined') return { kind: 'sent', mined: true }
      return answer === 'accepted' || answer === 'known' ? { kind: 'sent' } : { kind: 'unknown' }
    } catch {
      return { kind: 'unknown' }
    }
  }

  return {
    lanes,
    batchSize: maxCalls,
    gasWallet: signers[0]?.address,
    fundedWallet: () => fundedWallet,
    async unavailable(sender) {
      const surveyed = await survey()
      tellChanges(surveyed)
      if (surveyed.length === 0) return 'the chain cannot be reached'
      const asked = surveyed.filter(({ lane }) => sender === undefined || lane.address === sender)
      if (asked.some(({ funded }) => funded)) return undefined
      return asked.length > 0 ? emptyWords(asked) : `the gas wallet ${sender} cannot be read`
    },

    async gasPriceWei() {
      const [lane] = lanes
      if (!lane) throw new UnavailableError('every gas wallet')
      const { baseFeeWei, priorityFeeWei } = await lane.state()
      return baseFeeWei + priorityFeeWei
    },

    async makeBatches(items) {
      const assigned = await assign(groupCalls(items, maxCalls))
      const batches = await Promise.all(
        [...assigned].map(async ([lane, groups]) => {
          const nonces = await lane.allocate(groups.length)
          return Promise.all(groups.map((group, index) => makeBatch(lane, group, nonces[index]!)))
        }),
      )
      return batches.flat()
    },

    maintain: (due) => keeper.maintain(due),
  }
}

const coins = (wei: bigint): string => (Number(wei) / 1e18).toFixed(6)
