import { printable } from '../../chain/rpc.ts'

/** Stable codes for why a transfer fails, whatever the source of the message. The first matching pattern decides. */
const REASONS: ReadonlyArray<readonly [RegExp, string]> = [
  [/used or cancell?ed|already used/i, 'authorization_used'],
  [/exceeds balance|insufficient/i, 'insufficient_funds'],
  [/not yet valid/i, 'authorization_not_yet_valid'],
  [/expired/i, 'authorization_expired'],
  [/blacklist/i, 'blacklisted'],
  [/paused/i, 'paused'],
  [/signature|ecrecover/i, 'invalid_signature'],
  [/out ?of ?gas|gas required exceeds|intrinsic gas/i, 'out_of_gas'],
]

const ERROR_STRING = '0x08c379a0' // Error(string)

export function reasonOfText(text: string): string {
  for (const [pattern, word] of REASONS) if (pattern.test(text)) return word
  return printable(text) || 'reverted'
}

/** The reason in the revert data; `fallback` is the node's own message. */
export function reasonOfRevert(data: string, fallback = 'reverted'): string {
  return reasonOfText(data.toLowerCase().startsWith(ERROR_STRING) ? errorText(data) : fallback)
}

function errorText(data: string): string {
  const body = Buffer.from(data.slice(ERROR_STRING.length), 'hex')
  if (body.length < 64) return 'reverted'
  const length = Number(BigInt(`0x${body.subarray(32, 64).toString('hex')}`))
  return body.subarray(64, 64 + Math.min(length, 1024)).toString('utf8')
}
