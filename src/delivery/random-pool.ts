import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4096

/**
 * Random bytes of the system, fetched many at a time: a 402 needs three pieces, and a call costs more than the bytes.
 * Every byte is returned once.
 */
export function createRandomPool(fill: (pool: Uint8Array) => unknown = randomFillSync) {
  let pool = Buffer.alloc(0)
  let used = 0
  return {
    bytes(length: number): Buffer {
      if (used + length > pool.length) {
        // A new buffer each time, because callers keep parts of the old one.
        pool = Buffer.alloc(Math.max(POOL_BYTES, length))
        fill(pool)
        used = 0
      }
      used += length
      return pool.subarray(used - length, used)
    },
  }
}
