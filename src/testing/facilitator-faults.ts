/**
 * How a facilitator can fail, in the order of how far it gets.
 *
 * - `disconnect` the connection is cut without an answer; nothing is broadcast
 * - `error-500` an error; nothing is broadcast
 * - `hang` never answers; nothing is broadcast
 * - `late` does its real work after `ms`, or when `faults.release()` is called if no `ms` is given
 * - `refuse` a well-formed no, for `reason` (default `refused_by_test`); nothing is broadcast
 * - `lie-success` success with a random hash; nothing is broadcast
 * - `other-hash` success with the hash of another transaction (`hash`, or else the last one it sent); nothing is broadcast
 * - `garbage` bytes that are not JSON
 * - `html` a web page with status 200
 * - `huge` a valid-looking answer of `bytes` (default 32 MiB)
 * - `broadcast-then-500`, `broadcast-then-hang`, `broadcast-then-refuse`, `broadcast-then-disconnect`
 *   the transaction is in the mempool before the fault happens; it does not wait for the block
 */
export type Fault =
  | 'disconnect'
  | 'error-500'
  | 'hang'
  | 'late'
  | 'refuse'
  | 'lie-success'
  | 'other-hash'
  | 'garbage'
  | 'html'
  | 'huge'
  | 'broadcast-then-500'
  | 'broadcast-then-hang'
  | 'broadcast-then-refuse'
  | 'broadcast-then-disconnect'

/** How a fault happens: after how long, with which transaction hash, how large, for which reason. */
export type FaultOptions = { ms?: number; hash?: `0x${string}`; bytes?: number; reason?: string }

/** The endpoints of a facilitator that can be told to fail. */
export type FaultyOperation = 'verify' | 'settle' | 'supported'

export type PlannedFault = { fault: Fault; options: FaultOptions }

/** Planned faults: each `next` applies to one call, in order; `always` applies to all other calls. */
export function createFaultPlan() {
  const queued: Record<FaultyOperation, PlannedFault[]> = { verify: [], settle: [], supported: [] }
  const standing: Partial<Record<FaultyOperation, PlannedFault>> = {}
  let waiting: (() => void)[] = []

  return {
    /** The next call of this operation fails this way. */
    next(operation: FaultyOperation, fault: Fault, options: FaultOptions = {}): void {
      queued[operation].push({ fault, options })
    },
    /** Every call of this operation fails this way, until `clear`. */
    always(operation: FaultyOperation, fault: Fault, options: FaultOptions = {}): void {
      standing[operation] = { fault, options }
    },
    /** Removes all faults; `late` calls continue. */
    clear(): void {
      for (const operation of ['verify', 'settle', 'supported'] as const) {
        queued[operation] = []
        delete standing[operation]
      }
      this.release()
    },
    /** Lets all `late` calls without `ms` continue. */
    release(): void {
      const released = waiting
      waiting = []
      for (const go of released) go()
    },
    /** The fault of this call; used by the facilitator. */
    take(operation: FaultyOperation): PlannedFault | undefined {
      return queued[operation].shift() ?? standing[operation]
    },
    /** Resolves at `release`; used by the facilitator. */
    untilReleased(): Promise<void> {
      return new Promise((go) => waiting.push(go))
    },
  }
}

/** Which calls of a facilitator fail, and how. */
export type FaultPlan = ReturnType<typeof createFaultPlan>
