import type { Chain, Clock, Store, Turns, TxSigner, WalletState } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'

/** How old balance, fees and nonce may be. */
const STATE_AGE_MS = 3_000
/** A parcel not committed by then is taken for given up; should it still commit, the insert decides. */
const RESERVE_MS = 2_000
const MAX_WINDOW = 256

/** Sorts like the nonce. */
export function walletTxKey(wallet: Address, nonce: number): string {
  return `${wallet}:${String(nonce).padStart(10, '0')}`
}

/** One gas wallet and its nonces. */
export interface Lane {
  readonly signer: TxSigner
  readonly address: Address
  /** At most a few seconds old. */
  state(): Promise<WalletState>
  /** Takes in a state that was read elsewhere. */
  learn(state: WalletState): void
  /** What is known here is out of date: ask the chain before the next use. */
  distrust(): void
  /** Transactions on their way, as far as this process knows. */
  load(): number
  allocate(parcels: number): Promise<number[]>
  /** The row is stored: the nonce is ours for good. */
  confirm(nonce: number): void
  /** The row will not be stored: another parcel may have the nonce. */
  release(nonce: number): void
  isReserved(nonce: number): boolean
}

interface Reservation {
  untilMs: number
  /** It is stored, or given up. */
  done(): void
}

export interface LaneParts {
  chain: Chain
  store: Store
  clock: Clock
  /** Between instances that share the wallet. */
  turns?: Turns | undefined
}

/**
 * Nonces are allocated by the insert of their row, not here: this lane only proposes the lowest ones that the store
 * does not have, so that a parcel which was never committed leaves no gap for long. A proposal is kept from other
 * parcels of this process for a moment; other instances are met at the insert, one of them is refused, and its
 * payments are packed again. Where turns can be taken, that is rare: one lasts until its parcels are stored, or given up.
 */
export function createLane(signer: TxSigner, { chain, store, clock, turns }: LaneParts): Lane {
  const address = signer.address
  /** Stored rows at or above the chain's nonce, as far as known. */
  const taken = new Set<number>()
  const reserved = new Map<number, Reservation>()
  let known: { state: WalletState; atMs: number } | undefined
  let reading: Promise<WalletState> | undefined

  function learn(state: WalletState): void {
    known = { state, atMs: clock.now() }
    for (const nonce of taken) if (nonce < state.nonce) taken.delete(nonce)
    for (const nonce of reserved.keys()) if (nonce < state.nonce) release(nonce)
  }

  async function state(): Promise<WalletState> {
    if (known && clock.now() - known.atMs < STATE_AGE_MS) return known.state
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

  async function propose(parcels: number, done: () => void): Promise<number[]> {
    const nonces: number[] = []
    let next = (await state()).nonce
    for (
      // Others may have taken some; where nobody else writes, those are known, except right after a restart.
      let window = parcels + (store.exclusive ? 0 : 15);
      nonces.length < parcels;
      window = Math.min(window * 2, MAX_WINDOW)
    ) {
      const candidates: number[] = []
      for (; candidates.length < window; next++) {
        if (!taken.has(next) && !isReserved(next)) candidates.push(next)
      }
      const rows = await store.get(
        'walletTxs',
        candidates.map((nonce) => walletTxKey(address, nonce)),
      )
      candidates.forEach((nonce, index) => {
        if (rows[index]) taken.add(nonce)
        // Another pack may have taken it while we were reading.
        else if (nonces.length < parcels && !isReserved(nonce) && !taken.has(nonce)) {
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
    async allocate(parcels) {
      const endTurn = await turns?.take(address)
      try {
        return await propose(parcels, countDown(parcels, endTurn))
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

/** Calls `end` at its last call. */
function countDown(calls: number, end: (() => void) | undefined): () => void {
  let left = calls
  return () => {
    left -= 1
    if (left === 0) end?.()
  }
}
