import { type Fees, firstFees, raisedFees } from '../chain/gas-fees.ts'
import type { Alerts, Chain, Clock, Signed, Store, Submitted, WalletState, WalletTxRow } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { areMembersDecided } from './decided-members.ts'
import { earlierWalletTxKey, type Lane, openTransactions, walletRef, walletTxKey } from './gas-lane.ts'

export interface GasSettings {
  maxFeePerGasWei: bigint
  bumpAfterMs: number
  /** The gas limit of a transaction that only fills a nonce gap. */
  fillGas: number
}

/** The most replacements of one transaction, to keep its row small. By then the fee has grown two hundredfold. */
const MAX_HASHES = 24
/**
 * A gap is filled only if the transactions above it have waited this long: the missing batch may be about to commit.
 */
const GAP_GRACE_MS = 3_000
const MAX_FILLS = 32
/**
 * Rows this far above the chain's nonce come from a node that reported a wrong nonce; filling the gap below them
 * would cost a fortune.
 */
const STRANDED = 1_000

/** A node that has refused a transaction for so long will not take it later. */
const REFUSED_MS = 180_000

/** Sends stored transactions again, and raises their fees, until they are mined or replaced. */
export function createTransactionKeeper({
  chainId,
  chain,
  store,
  clock,
  alerts,
  lanes,
  settings,
}: {
  chainId: number
  chain: Chain
  store: Store
  clock: Clock
  alerts: Alerts
  lanes: readonly Lane[]
  settings: GasSettings
}) {
  const { maxFeePerGasWei, bumpAfterMs, fillGas } = settings
  /** The chain's next nonce of each wallet, as it was last read here. */
  const nonces = new Map<Address, number>()
  /** Refused transactions that the operator was told of. */
  const told = new Set<string>()

  async function put(row: WalletTxRow): Promise<WalletTxRow | undefined> {
    const { kind } = await store.commit({ puts: [{ table: 'walletTxs', row }] })
    return kind === 'applied' ? { ...row, version: row.version + 1 } : undefined
  }

  /** Signs again with higher fees under the same nonce. Stored before it is sent, or its hash could be lost. */
  async function raise(lane: Lane, row: WalletTxRow, state: WalletState): Promise<WalletTxRow | undefined> {
    const old = {
      maxFeePerGas: BigInt(row.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(row.maxPriorityFeePerGas),
    }
    const fees = raisedFees(old, state, maxFeePerGasWei)
    if (!fees || row.hashes.length >= MAX_HASHES) return undefined
    return signAgain(lane, row, fees)
  }

  async function signAgain(lane: Lane, row: WalletTxRow, fees: Fees): Promise<WalletTxRow | undefined> {
    const { nonce, calls, gas } = row
    const { raw, hash } = await lane.signer.sign({ nonce, calls, gas, ...fees })
    return put({
      ...row,
      dueAt: clock.now() + bumpAfterMs,
      maxFeePerGas: fees.maxFeePerGas.toString(),
      maxPriorityFeePerGas: fees.maxPriorityFeePerGas.toString(),
      raw,
      hashes: [...row.hashes, hash],
    })
  }

  /**
   * No later transaction of its wallet can be mined before this one. The operator is told, and once it can pay for
   * nothing any more, a transfer of nothing takes its nonce.
   */
  async function freeNonce(
    lane: Lane | undefined,
    row: WalletTxRow,
    state: WalletState,
    words: string,
  ): Promise<void> {
    const { key, nonce, wallet } = row
    if (nonce !== state.nonce || clock.now() - row.createdAt < REFUSED_MS) return
    if (!told.has(key))
      alerts.raise(
        'job-failed',
        `the gas wallet ${wallet} is held up: the RPC refuses its transaction of nonce ${nonce}: ${words}. Its nonce is freed once its payments are decided`,
      )
    told.add(key)
    if (!lane || row.members.length === 0 || !(await areMembersDecided(store, row))) return
    const empty = { ...row, calls: [], members: [], gas: fillGas }
    const old = {
      maxFeePerGas: BigInt(row.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(row.maxPriorityFeePerGas),
    }
    const fees = raisedFees(old, state, maxFeePerGasWei) ?? firstFees(state, maxFeePerGasWei)
    const freed = await signAgain(lane, empty, fees)
    if (freed) await submit(freed.raw)
  }

  /** Sends unmined transactions again in the order of nonces, and raises the fee of those that hold up the others. */
  async function push(
    lane: Lane | undefined,
    rows: readonly WalletTxRow[],
    state: WalletState,
  ): Promise<void> {
    const answers = await Promise.all(rows.map(({ raw }) => submit(raw)))
    for (const [index, row] of rows.entries()) {
      const answer = answers[index]!
      if (typeof answer === 'object') {
        await freeNonce(lane, row, state, answer.refused)
        continue
      }
      // If the node accepts it as new, it did not have it, so this fee has not been tried yet. Some nodes always
      // answer this way, hence the check of its age.
      const old = clock.now() - row.createdAt >= 2 * bumpAfterMs
      const stuck = answer === 'known' || answer === 'underpriced' || (answer === 'accepted' && old)
      const holdsUp = row.nonce === state.nonce || BigInt(row.maxFeePerGas) < state.baseFeeWei
      if (!lane || !stuck || !holdsUp) continue
      const raised = await raise(lane, row, state)
      if (raised) await submit(raised.raw)
    }
  }

  const submit = (raw: WalletTxRow['raw']): Promise<Submitted> =>
    chain.submit(raw).catch(() => 'unknown' as const)

  /** The calls of a closed row: its own, or, after {@link withoutCalls}, those from the rows of its members. */
  async function callsOf(row: WalletTxRow): Promise<Signed[]> {
    if (row.calls.length > 0) return row.calls
    const payments = await store.get(
      'authorizations',
      row.members.map(({ key }) => key),
    )
    return payments.flatMap((payment) => (payment ? [payment.auth] : []))
  }

  /**
   * Transactions above a missing nonce can never be mined. If a reorganisation removed the transaction of that nonce,
   * it is reopened and sent again. If the nonce has no row (its batch was never committed, or the store was lost), it
   * is used by a transfer of nothing. If a batch wants the nonce at the same time, the insert decides.
   */
  async function fillGaps(
    wallet: Address,
    open: readonly WalletTxRow[],
    closed: ReadonlySet<number>,
    state: WalletState,
  ) {
    const lane = lanes.find(({ address }) => address === wallet)
    const nowMs = clock.now()
    const waiting = open.filter(
      ({ nonce, createdAt }) => nonce > state.nonce && nowMs - createdAt >= GAP_GRACE_MS,
    )
    const top = Math.max(
      ...waiting.map(({ nonce }) => nonce).filter((nonce) => nonce < state.nonce + STRANDED),
    )
    const present = new Set(open.map(({ nonce }) => nonce))
    const holes: number[] = []
    for (let nonce = state.nonce; nonce < top && holes.length < MAX_FILLS; nonce++) {
      if (!present.has(nonce) && !closed.has(nonce)) holes.push(nonce)
    }
    if (holes.length === 0) return
    const rows = await closedRows(wallet, holes)
    const mined = await chain.mined(rows.flatMap((row) => row?.hashes ?? []))
    for (const [index, nonce] of holes.entries()) {
      const row = rows[index]
      if (!row && (!lane || lane.isReserved(nonce))) continue
      if (row && mined.some(({ hash }) => row.hashes.includes(hash))) continue
      const filled = await put(row ? await reopened(row) : await emptyRow(lane!, nonce, state))
      if (!filled) continue
      lane?.confirm(nonce)
      await submit(filled.raw)
    }
  }

  /** The stored rows of these nonces, also under the earlier keys. */
  async function closedRows(wallet: Address, nonces: readonly number[]) {
    const [rows, earlier] = await Promise.all([
      store.get(
        'walletTxs',
        nonces.map((nonce) => walletTxKey(chainId, wallet, nonce)),
      ),
      store.get(
        'walletTxs',
        nonces.map((nonce) => earlierWalletTxKey(wallet, nonce)),
      ),
    ])
    return rows.map((row, index) => {
      const before = earlier[index]
      return row ?? (before?.chainId === chainId ? before : undefined)
    })
  }

  /** Is a nonce missing below a transaction that has waited long enough? Decided without asking the chain. */
  function mayHaveGap(wallet: Address, open: readonly WalletTxRow[]): boolean {
    const nowMs = clock.now()
    const known = nonces.get(wallet)
    const above = open.filter(({ nonce }) => known === undefined || nonce >= known)
    if (!above.some(({ createdAt }) => nowMs - createdAt >= GAP_GRACE_MS)) return false
    return known === undefined || Math.max(...above.map(({ nonce }) => nonce)) - known + 1 > above.length
  }

  async function reopened(row: WalletTxRow): Promise<WalletTxRow> {
    const calls = await callsOf(row)
    // The ref that the row had when it was stored: its key without the nonce.
    const ref = row.key.slice(0, row.key.lastIndexOf(':'))
    return { ...row, calls, phase: 'SENT', ref, dueAt: clock.now() + bumpAfterMs }
  }

  async function emptyRow(lane: Lane, nonce: number, state: WalletState): Promise<WalletTxRow> {
    const fees = firstFees(state, maxFeePerGasWei)
    const { raw, hash } = await lane.signer.sign({ nonce, calls: [], gas: fillGas, ...fees })
    const nowMs = clock.now()
    return {
      key: walletTxKey(chainId, lane.address, nonce),
      version: 0,
      ref: walletRef(chainId, lane.address),
      dueAt: nowMs + bumpAfterMs,
      chainId,
      wallet: lane.address,
      nonce,
      calls: [],
      members: [],
      maxFeePerGas: fees.maxFeePerGas.toString(),
      maxPriorityFeePerGas: fees.maxPriorityFeePerGas.toString(),
      gas: fillGas,
      raw,
      hashes: [hash],
      phase: 'SENT',
      createdAt: nowMs,
    }
  }

  async function maintainWallet(wallet: Address, due: readonly WalletTxRow[]): Promise<void> {
    const open = await openTransactions(store, chainId, wallet)
    if (due.length === 0 && !mayHaveGap(wallet, open)) return
    const lane = lanes.find(({ address }) => address === wallet)
    // The nonce is read first, so that a transaction mined between the two answers is found as mined and does not
    // look replaced.
    const state = await chain.wallet(wallet)
    nonces.set(wallet, state.nonce)
    lane?.learn(state)
    const mined = new Set((await chain.mined(due.flatMap(({ hashes }) => hashes))).map(({ hash }) => hash))
    const isMined = (row: WalletTxRow): boolean => row.hashes.some((hash) => mined.has(hash))
    const over = due.filter((row) => isMined(row) || row.nonce < state.nonce)
    await Promise.all(
      over.map((row) =>
        put(withoutCalls({ ...row, phase: isMined(row) ? 'MINED' : 'REPLACED', ref: null, dueAt: null })),
      ),
    )
    const closed = new Set(over.map(({ nonce }) => nonce))
    const moving = due.filter(({ nonce }) => !closed.has(nonce)).sort((a, b) => a.nonce - b.nonce)
    await push(lane, moving, state)
    await fillGaps(
      wallet,
      open.filter(({ nonce }) => !closed.has(nonce)),
      closed,
      state,
    )
  }

  /** `due`: open transactions on this chain whose dueAt has passed. */
  async function maintain(due: readonly WalletTxRow[]): Promise<void> {
    // Rows of a wallet whose key is no longer configured are followed too, but never signed again.
    const wallets = new Set([...lanes.map(({ address }) => address), ...due.map(({ wallet }) => wallet)])
    let failure: unknown
    for (const wallet of wallets) {
      try {
        await maintainWallet(
          wallet,
          due.filter((row) => row.wallet === wallet),
        )
      } catch (error) {
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
  }

  return { maintain, raise }
}

/**
 * A closed row need not keep its calls: those of payments are also in the rows of the payments. Refunds have no such
 * row.
 */
function withoutCalls(row: WalletTxRow): WalletTxRow {
  return row.members.every(({ kind }) => kind === 'payment') ? { ...row, calls: [] } : row
}
