/** A JSON-RPC error: the node answered with an error. */
export interface RpcFailure {
  code: number
  message: string
  /** Revert data, where the node gives any. */
  data?: string
}

export type RpcAnswer = { ok: true; result: unknown } | { ok: false; error: RpcFailure }
