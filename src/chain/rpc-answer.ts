/** A JSON-RPC error: the node answered with an error. */
export interface RpcFailure {
  code: number
  message: string
  /** Revert data, where the node gives any. */
  data?: string
}

export type RpcAnswer = { ok: true; result: unknown } | { ok: false; error: RpcFailure }

/** A failed `eth_call`: did the called code fail, or could the node not run it? */
export function isRevert({ code, message, data }: RpcFailure): boolean {
  if (code === 3 || data?.startsWith('0x')) return true
  return /revert|out ?of ?gas|gas required exceeds|opcode|invalid jump|stack (under|over)flow|EVM error/i.test(
    message,
  )
}

/** The node is too busy to answer, which says nothing about the call. */
export function isBusy({ code, message }: RpcFailure): boolean {
  return (
    code === -32005 || code === 429 || /rate.?limit|too many requests|capacity|timed? ?out/i.test(message)
  )
}
