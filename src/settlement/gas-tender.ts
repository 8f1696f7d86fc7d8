import type {
  Chain,
  Clock,
  SignedAuthorization,
  Store,
  Submitted,
  WalletState,
  WalletTxRow,
} from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { firstFees, raisedFees } from './gas-fees.ts'
import { type Lane, walletTxKey } from './gas-lane.ts'

export interface GasSettings {
  maxFeePerGasWei: bigint
  bumpAfterMs: number
  /** For a transaction that only fills a nonce gap. */
  fillGas: number
}

const TAKE = 200
const MAX_TAKEN = 400
/** Replacements of one transaction: keeps its row bounded. By then the fee has grown two hundredfold. */
const MAX_HASHES = 24
/** A gap is filled only if the transactions above it have waited so long: its parcel may be on its way. */
const GAP_GRACE_MS = 3_000
const MAX_FILLS = 32
/** Rows so far above the chain's nonce come from a node that lied about it; filling up to them would cost a fortune. */
const STRANDED = 1_000

/** Keeps stored transactions moving until they are mined or replaced. */
export function createTender({
  chain,
  store,
  clock,
  lanes,
  settings,
}: {
  chain: Chain
  store: Store
  clock: Clock
  lanes: readonly Lane[]
  settings: GasSettings
}) {
  const { maxFeePerGasWei, bumpAfterMs, fillGas } = settings
  /** The chain's next nonce of each wallet, when it was last read here. */
  const nonces = new Map<Address, number>()

  async function put(row: WalletTxRow): Promise<WalletTxRow | undefined> {
    const { kind } = await store.commit({ puts: [{ table: 'walletTxs', row }] })
    return kind === 'applied' ? { ...row, version: row.version + 1 } : undefined
  }

  /** Signs again with higher fees under the same nonce. Stored before anyone sends it, or its hash could be lost. */
  async function raise(lane: Lane, row: WalletTxRow, state: WalletState): Promise<WalletTxRow | undefined> {
    const old = {
      maxFeePerGas: BigInt(row.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(row.maxPriorityFeePerGas),
    }
    const fees = raisedFees(old, state, maxFeePerGasWei)
    if (!fees || row.hashes.length >= MAX_HASHES) return undefined
    const { raw, hash } = await lane.signer.sign({
      nonce: row.nonce,
      calls: row.calls,
      gas: row.gas,
      ...fees,
    })
    return put({
      ...row,
      dueAt: clock.now() + bumpAfterMs,
      maxFeePerGas: fees.maxFeePerGas.toString(),
      maxPriorityFeePerGas: fees.maxPriorityFeePerGas.toString(),
      raw,
      hashes: [...row.hashes, hash],
    })
  }

  /** Sends what is not mined once more, in the order of nonces, and raises the fee of what holds up the others. */
  async function push(
    lane: Lane | undefined,
    rows: readonly WalletTxRow[],
    state: WalletState,
  ): Promise<void> {
    const answers = await Promise.all(rows.map(({ raw }) => submit(raw)))
    for (const [index, row] of rows.entries()) {
      const answer = answers[index]!
      // A node that takes it as new had lost it, or never had it: its price has not been tried yet. Some nodes
      // always say so, hence the age.
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

  /** The calls of a closed row: its own, or those that {@link withoutCalls} left to the members' rows. */
  async function callsOf(row: WalletTxRow): Promise<SignedAuthorization[]> {
    if (row.calls.length > 0) return row.calls
    const payments = await store.get('authorizations', row.members)
    return payments.flatMap((payment) => payment?.auth ?? [])
  }

  /**
   * Transactions above a missing nonce can never be mined. A reorganisation may have thrown out what was there: it
   * is opened and sent again. A nonce without a row (its parcel was never committed, or the store was lost) is
   * used up by a transfer of nothing; the insert decides against a parcel that wants it at the same time.
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
    const rows = await store.get(
      'walletTxs',
      holes.map((nonce) => walletTxKey(wallet, nonce)),
    )
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

  /** Is a nonce missing below one that has waited long enough, as far as is known without asking the chain? */
  function mayHaveGap(wallet: Address, open: readonly WalletTxRow[]): boolean {
    const nowMs = clock.now()
    const known = nonces.get(wallet)
    const above = open.filter(({ nonce }) => known === undefined || nonce >= known)
    if (!above.some(({ createdAt }) => nowMs - createdAt >= GAP_GRACE_MS)) return false
    return known === undefined || Math.max(...above.map(({ nonce }) => nonce)) - known + 1 > above.length
  }

  async function reopened(row: WalletTxRow): Promise<WalletTxRow> {
    const calls = await callsOf(row)
    return { ...row, calls, phase: 'SENT', ref: row.wallet, dueAt: clock.now() + bumpAfterMs }
  }

  async function emptyRow(lane: Lane, nonce: number, state: WalletState): Promise<WalletTxRow> {
    const fees = firstFees(state, maxFeePerGasWei)
    const { raw, hash } = await lane.signer.sign({ nonce, calls: [], gas: fillGas, ...fees })
    const nowMs = clock.now()
    return {
      key: walletTxKey(lane.address, nonce),
      version: 0,
      ref: lane.address,
      dueAt: nowMs + bumpAfterMs,
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

  async function tendWallet(wallet: Address, due: readonly WalletTxRow[]): Promise<void> {
    const open = await store.list('walletTxs', wallet)
    if (due.length === 0 && !mayHaveGap(wallet, open)) return
    const lane = lanes.find(({ address }) => address === wallet)
    // The nonce first: a transaction mined between the two answers is then found mined, not taken for replaced.
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

  async function tend(): Promise<void> {
    const nowMs = clock.now()
    const due: WalletTxRow[] = []
    for (let taken = TAKE; taken === TAKE && due.length < MAX_TAKEN; ) {
      // Taking postpones a row to its next visit, so that one which only waits needs no write.
      const rows = await store.takeDue('walletTxs', nowMs, nowMs + bumpAfterMs, TAKE)
      taken = rows.length
      // What is in a phase that a newer version stored is left to an instance of that version.
      due.push(...rows.filter(({ phase }) => phase === 'SENT'))
    }
    // Rows of a wallet whose key was taken out of the configuration are followed too, only never re-signed.
    const wallets = new Set([...lanes.map(({ address }) => address), ...due.map(({ wallet }) => wallet)])
    let failure: unknown
    for (const wallet of wallets) {
      try {
        await tendWallet(
          wallet,
          due.filter((row) => row.wallet === wallet),
        )
      } catch (error) {
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
  }

  return { tend, raise }
}

/**
 * What a closed row carried is also in the rows of its members, so it need not keep it. A refund is no such case: it
 * goes by the key of the payment that it returns, whose row holds another authorization.
 */
function withoutCalls(row: WalletTxRow): WalletTxRow {
  const kept = row.calls.every(({ from, nonce }, index) => row.members[index]!.endsWith(`:${from}:${nonce}`))
  return kept ? { ...row, calls: [] } : row
}
