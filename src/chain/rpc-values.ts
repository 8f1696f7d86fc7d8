import { UnavailableError } from '../errors.ts'
import type { Block } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'

/** Every field of a node's answer is checked: a lying or broken node must not cause half-read values. */
function malformed(what: string): UnavailableError {
  return new UnavailableError(`the RPC (malformed ${what})`)
}

export function readRecord(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(what)
  return value as Record<string, unknown>
}

export function readBig(value: unknown, what: string): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw malformed(what)
  return BigInt(value)
}

export function readNumber(value: unknown, what: string): number {
  const big = readBig(value, what)
  if (big > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed(what)
  return Number(big)
}

export function readHex(value: unknown, what: string, bytes?: number): Hex {
  if (typeof value !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(value)) throw malformed(what)
  if (bytes !== undefined && value.length !== 2 + bytes * 2) throw malformed(what)
  return value.toLowerCase() as Hex
}

export function readBlock(value: unknown): Block {
  const block = readRecord(value, 'block')
  return {
    number: readNumber(block.number, 'block number'),
    hash: readHex(block.hash, 'block hash', 32),
    timestamp: readNumber(block.timestamp, 'block timestamp'),
  }
}

export function toQuantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}
