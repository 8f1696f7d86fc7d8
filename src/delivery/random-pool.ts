import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4096

/**
 * The system's randomness, fetched in larger pieces: a 402 needs three handfuls, and each call costs more than the
 * bytes. Every byte is given out once.
 */
export function createRandomPool(fill: (pool: Uint8Array) => unknown = randomFillSync) {
  let pool = Buffer.alloc(0)
  let used = 0
  return {
    bytes(length: number): Buffer {
      if (used + length > pool.length) {
        // A new pool each time: what was given out stays as it is.
        pool = Buffer.alloc(Math.max(POOL_BYTES, length))
        fill(pool)
        used = 0
      }
      used += length
      return pool.subarray(used - length, used)
    },
  }
}
