/** A JSON-RPC error: the node answered with an error. */
export interface RpcFailure {
  code: number
  message: string
  /** Revert data, where the node gives any. */
  data?: string
}

export type RpcAnswer = { ok: true; result: unknown } | { ok: false; error: RpcFailure }

/** How nodes name the ends that code can come to, besides a revert. */
const CODE_FAILED =
  /revert|out ?of ?gas|gas required exceeds|opcode|invalid jump|stack (under|over)flow|stack limit|return ?data ?out ?of ?bounds|uint64 overflow|code size exceeded|write protection|address collision|call depth|EVM error|VM execution error/i

/** A failed `eth_call`: did the called code fail, or could the node not run it? */
export function isRevert({ code, message, data }: RpcFailure): boolean {
  return code === 3 || data?.startsWith('0x') === true || CODE_FAILED.test(message)
}

/** The node is too busy to answer, which says nothing about the call. */
export function isBusy({ code, message }: RpcFailure): boolean {
  return (
    code === -32005 || code === 429 || /rate.?limit|too many requests|capacity|timed? ?out/i.test(message)
  )
}
