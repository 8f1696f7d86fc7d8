import type { Chain, Clock, Store, Turns, TxSigner, WalletState, WalletTxRow } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'

/** How old balance, fees and nonce may be. */
const STATE_AGE_MS = 3_000
/** A batch that is not committed by then counts as given up. If it commits later after all, the insert decides. */
const RESERVE_MS = 2_000
const MAX_WINDOW = 256

/** Groups the open transactions of a wallet on one chain. */
export const walletRef = (chainId: number, wallet: Address): string => `${chainId}:${wallet}`

/** Sorts like the nonce. */
export function walletTxKey(chainId: number, wallet: Address, nonce: number): string {
  return `${walletRef(chainId, wallet)}:${paddedNonce(nonce)}`
}

/** The key format from before a store could hold several chains; such rows still exist. */
export function earlierWalletTxKey(wallet: Address, nonce: number): string {
  return `${wallet}:${paddedNonce(nonce)}`
}

const paddedNonce = (nonce: number): string => String(nonce).padStart(10, '0')

/** Every open transaction of this wallet on this chain, also under the earlier keys. */
export async function openTransactions(
  store: Store,
  chainId: number,
  wallet: Address,
): Promise<WalletTxRow[]> {
  const [open, earlier] = await Promise.all([
    store.list('walletTxs', walletRef(chainId, wallet)),
    store.list('walletTxs', wallet),
  ])
  return earlier.length === 0 ? open : [...open, ...earlier.filter((row) => row.chainId === chainId)]
}

/** One gas wallet and its nonces. */
export interface Lane {
  readonly signer: TxSigner
  readonly address: Address
  /** At most a few seconds old. */
  state(): Promise<WalletState>
  /** Uses a state that was read elsewhere. */
  learn(state: WalletState): void
  /** The known state is out of date: the chain is asked before the next use. */
  distrust(): void
  /** Transactions on their way, as far as this process knows. */
  load(): number
  allocate(batches: number): Promise<number[]>
  /** The row is stored: the nonce is ours for good. */
  confirm(nonce: number): void
  /** The row will not be stored: another batch may have the nonce. */
  release(nonce: number): void
  isReserved(nonce: number): boolean
}

interface Reservation {
  untilMs: number
  /** It is stored, or given up. */
  done(): void
}

export interface LaneParts {
  chainId: number
  chain: Chain
  store: Store
  clock: Clock
  /** Turns between the instances that share the wallet. */
  turns?: Turns | undefined
}

/**
 * A nonce is allocated by the insert of its row, not here: this lane only proposes the lowest nonces that the store
 * does not have, so that a batch that was never committed leaves no gap for long. A proposal is reserved within this
 * process for a moment. If two instances propose the same nonce, the insert of one is refused, and its payments go
 * into new batches. With turns that is rare: a turn lasts until its batches are stored or given up.
 */
export function createLane(signer: TxSigner, { chainId, chain, store, clock, turns }: LaneParts): Lane {
  const address = signer.address
  /** Stored rows at or above the chain's nonce, as far as known. */
  const taken = new Set<number>()
  const reserved = new Map<number, Reservation>()
  let known: { state: WalletState; atMs: number } | undefined
  let reading: Promise<WalletState> | undefined
  let knowsEarlier = false

  function learn(state: WalletState): void {
    known = { state, atMs: clock.now() }
    for (const nonce of taken) if (nonce < state.nonce) taken.delete(nonce)
    for (const nonce of reserved.keys()) if (nonce < state.nonce) release(nonce)
  }

  async function state(): Promise<WalletState> {
    // A clock that was set back must not keep it for longer.
    if (known && Math.abs(clock.now() - known.atMs) < STATE_AGE_MS) return known.state
    reading ??= chain.wallet(address).finally(() => {
      reading = undefined
    })
    const fresh = await reading
    learn(fresh)
    return fresh
  }

  function isReserved(nonce: number): boolean {
    const reservation = reserved.get(nonce)
    if (reservation && reservation.untilMs <= clock.now()) release(nonce)
    return reserved.has(nonce)
  }

  function release(nonce: number): void {
    reserved.get(nonce)?.done()
    reserved.delete(nonce)
  }

  /** Learns the nonces that are stored under the earlier keys; no new ones appear there, so one read is enough. */
  async function learnEarlier(): Promise<void> {
    if (knowsEarlier) return
    for (const row of await store.list('walletTxs', address)) {
      if (row.chainId === chainId) taken.add(row.nonce)
    }
    knowsEarlier = true
  }

  async function propose(batches: number, done: () => void): Promise<number[]> {
    const nonces: number[] = []
    let next = (await state()).nonce
    await learnEarlier()
    for (
      // Other instances may have taken some nonces. On an exclusive store all are known, except right after a
      // restart.
      let window = batches + (store.exclusive ? 0 : 15);
      nonces.length < batches;
      window = Math.min(window * 2, MAX_WINDOW)
    ) {
      const candidates: number[] = []
      for (; candidates.length < window; next++) {
        if (!taken.has(next) && !isReserved(next)) candidates.push(next)
      }
      const rows = await store.get(
        'walletTxs',
        candidates.map((nonce) => walletTxKey(chainId, address, nonce)),
      )
      candidates.forEach((nonce, index) => {
        if (rows[index]) taken.add(nonce)
        // Another batch may have taken it during the read.
        else if (nonces.length < batches && !isReserved(nonce) && !taken.has(nonce)) {
          reserved.set(nonce, { untilMs: clock.now() + RESERVE_MS, done })
          nonces.push(nonce)
        }
      })
    }
    return nonces
  }

  return {
    signer,
    address,
    state,
    learn,
    release,
    isReserved,
    distrust() {
      known = undefined
    },
    load: () => taken.size + reserved.size,
    async allocate(batches) {
      const endTurn = await turns?.take(walletRef(chainId, address))
      try {
        return await propose(batches, countDown(batches, endTurn))
      } catch (error) {
        endTurn?.()
        throw error
      }
    },
    confirm(nonce) {
      release(nonce)
      taken.add(nonce)
    },
  }
}

/** Calls `end` when it was called `calls` times. */
function countDown(calls: number, end: (() => void) | undefined): () => void {
  let left = calls
  return () => {
    left -= 1
    if (left === 0) end?.()
  }
}
