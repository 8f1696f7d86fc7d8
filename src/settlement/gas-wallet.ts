import { UnavailableError } from '../errors.ts'
import type {
  Alerts,
  Chain,
  Clock,
  Parcel,
  Parcelable,
  Sent,
  Settlement,
  Store,
  Turns,
  TxSigner,
  WalletTxRow,
} from '../ports.ts'
import { firstFees } from './gas-fees.ts'
import { createLane, type Lane, walletTxKey } from './gas-lane.ts'
import { ALONE_GAS } from './gas-limits.ts'
import { createTender, type GasSettings } from './gas-tender.ts'
import { groupCalls } from './group-calls.ts'

/** Base fee of a transaction, of Multicall3, and of the calldata; also the whole of a transfer of nothing. */
const OVERHEAD_GAS = 40_000
/** Below the 2^24 that networks allow one transaction. */
const MAX_TX_GAS = 15_000_000

/**
 * Settlement by the seller's own gas wallets: payments are packed into as few transactions as their members allow,
 * signed, stored together with the members' BROADCAST mark, and only then sent; nothing waits for receipts. What was
 * stored and never sent, or is stuck, is `tend`'s business.
 */
export function createGasWallet({
  chain,
  store,
  clock,
  alerts,
  signers,
  turns,
  gasPerCall = 120_000,
  maxCallsPerTx = 100,
  maxFeePerGasWei = 5_000_000_000n,
  bumpAfterMs = 12_000,
  alsoTends = [],
}: {
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
  /** Lanes of another wallet in the same store: whoever tends takes every stored transaction, and must be able to sign it again. */
  alsoTends?: readonly Lane[]
}): Settlement & { lanes: readonly Lane[] } {
  const lanes = signers.map((signer) => createLane(signer, { chain, store, clock, turns }))
  const maxCalls = Math.max(1, Math.min(maxCallsPerTx, Math.floor((MAX_TX_GAS - OVERHEAD_GAS) / gasPerCall)))
  const gasOf = (calls: number): number => OVERHEAD_GAS + calls * gasPerCall
  const settings: GasSettings = { maxFeePerGasWei, bumpAfterMs, fillGas: gasOf(0) }
  const tender = createTender({ chain, store, clock, lanes: [...lanes, ...alsoTends], settings })
  let alerted = false

  /** Lanes that can be read, with what a full transaction may cost there at most. */
  async function survey() {
    const surveyed = await Promise.all(
      lanes.map(async (lane) => {
        const state = await lane.state().catch(() => undefined)
        if (!state) return []
        const needWei = firstFees(state, maxFeePerGasWei).maxFeePerGas * BigInt(gasOf(maxCalls))
        return [{ lane, balanceWei: state.balanceWei, needWei, funded: state.balanceWei >= needWei }]
      }),
    )
    return surveyed.flat()
  }

  /** Spreads the groups over the lanes, each to the one with the fewest transactions under way. */
  async function assign(groups: readonly Parcelable[][]): Promise<Map<Lane, Parcelable[][]>> {
    const surveyed = await survey()
    const funded = surveyed.filter((entry) => entry.funded)
    const usable = (funded.length > 0 ? funded : surveyed).map(({ lane }) => ({ lane, load: lane.load() }))
    if (usable.length === 0) throw new UnavailableError('every gas wallet')
    const assigned = new Map<Lane, Parcelable[][]>()
    for (const group of groups) {
      const idlest = usable.reduce((best, next) => (next.load < best.load ? next : best))
      idlest.load += 1
      assigned.set(idlest.lane, [...(assigned.get(idlest.lane) ?? []), group])
    }
    return assigned
  }

  async function makeParcel(lane: Lane, group: readonly Parcelable[], nonce: number): Promise<Parcel> {
    const calls = group.map(({ auth }) => auth)
    const members = group.map(({ key }) => key)
    const gas = group.some(({ alone }) => alone) ? (group[0]!.gas ?? ALONE_GAS) : gasOf(calls.length)
    const fees = firstFees(await lane.state(), maxFeePerGasWei)
    const { raw, hash } = await lane.signer.sign({ nonce, calls, gas, ...fees })
    const nowMs = clock.now()
    const row: WalletTxRow = {
      key: walletTxKey(lane.address, nonce),
      version: 0,
      ref: lane.address,
      // Should we die between the commit and the send, tend sends it then.
      dueAt: nowMs + bumpAfterMs,
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
      members,
      puts: [{ table: 'walletTxs', row }],
      walletTx: row.key,
      send: () => send(lane, { ...row, version: 1 }),
      drop: () => lane.release(nonce),
    }
  }

  async function send(lane: Lane, row: WalletTxRow): Promise<Sent> {
    lane.confirm(row.nonce)
    try {
      let answer = await chain.submit(row.raw)
      if (answer === 'underpriced') {
        lane.distrust()
        const raised = await tender.raise(lane, row, await lane.state())
        if (raised) answer = await chain.submit(raised.raw)
      }
      // Somebody else used this nonce: the chain knows better than our cache.
      if (answer === 'nonce-low') lane.distrust()
      return answer === 'accepted' || answer === 'known' ? { kind: 'sent' } : { kind: 'unknown' }
    } catch {
      return { kind: 'unknown' }
    }
  }

  return {
    lanes,
    packs: maxCalls,
    gasWallet: signers[0]?.address,
    async unavailable() {
      const surveyed = await survey()
      if (surveyed.some(({ funded }) => funded)) {
        alerted = false
        return undefined
      }
      if (surveyed.length === 0) return 'the chain cannot be reached'
      const wallets = surveyed.map(({ lane, balanceWei, needWei }) => {
        return `${lane.address} holds ${ether(balanceWei)} ETH, a transaction may cost ${ether(needWei)}`
      })
      const message = `the gas wallet is empty: ${wallets.join('; ')}`
      if (!alerted) alerts.raise('gas-wallet-empty', message)
      alerted = true
      return message
    },

    async pack(items) {
      const assigned = await assign(groupCalls(items, maxCalls))
      const parcels = await Promise.all(
        [...assigned].map(async ([lane, groups]) => {
          const nonces = await lane.allocate(groups.length)
          return Promise.all(groups.map((group, index) => makeParcel(lane, group, nonces[index]!)))
        }),
      )
      return parcels.flat()
    },

    tend: () => tender.tend(),
  }
}

const ether = (wei: bigint): string => (Number(wei) / 1e18).toFixed(6)
