/** Every row: plain JSON. Amounts are decimal strings as on the wire; heights and times are safe integers. */
export interface RowBase {
  key: string
  /** The version that was read; 0 means "not stored yet". A put succeeds only if the stored version is still this one. */
  version: number
  /** Groups rows for `list`: the challengeId, or the wallet of an open wallet transaction. */
  ref: string | null
  /**
   * When a job must look at this row again; null once nothing is left to do. Unfinished rows always have one, so none
   * waits forever.
   */
  dueAt: number | null
}
