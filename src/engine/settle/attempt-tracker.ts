import type { AuthorizationRow } from '../../ports.ts'

/** Gets every row that was stored as BROADCAST, and follows it until the chain has decided. */
export interface AttemptTracker {
  /** `awaitsBlock`: their send should answer when they are in a block, so that no look is needed before. */
  watch(rows: readonly AuthorizationRow[], awaitsBlock?: boolean): void
  /** The payment was refused, or it can no longer land. It is watched until that is certain. */
  refused(row: AuthorizationRow, reason: string): Promise<void>
  /** These were sent, so the chain should be looked at now. `mined`: a node says that they are in a block. */
  noteSent(rows: readonly AuthorizationRow[], mined: boolean): void
  /** Undefined while nothing is watched; otherwise resolves when one of the watched payments is decided. */
  progress(): Promise<void> | undefined
}
