import type { Hex } from '../../src/protocol/hex.ts'

/** All randomness of a history comes from seeded streams, so that a seed determines the whole history. */
export interface Dice {
  /** In [0, 1). */
  next(): number
  /** Integer in [low, high]. */
  int(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** Often near `low`, sometimes near `high`: most faults are small, and rare large ones matter. */
  skewed(low: number, high: number): number
  hex(bytes: number): Hex
  bytes(length: number): Uint8Array
}

/** The streams of a history. */
export interface Streams {
  dice: Dice
  /** For events that were added later: a history without them is the same as before. */
  extraDice: Dice
  /** For what has to do with MPP, likewise. */
  mppDice: Dice
  /** For what has to do with credits, likewise. */
  creditDice: Dice
  /** For what has to do with webhooks, likewise. */
  eventDice: Dice
  /** For what has to do with metered calls, likewise. */
  meterDice: Dice
  /** For answers that go out before they are paid, likewise. */
  streamDice: Dice
  /** For sends that wait for their block, likewise. */
  sendDice: Dice
}

/** mulberry32: 32 bits of state, plenty for one history, and fast. */
export function createDice(seed: number): Dice {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  function bytes(length: number): Uint8Array {
    const drawn = new Uint8Array(length)
    for (let index = 0; index < length; index++) drawn[index] = int(0, 255)
    return drawn
  }
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (items) => items[int(0, items.length - 1)]!,
    skewed: (low, high) => Math.floor(low + (high - low) * next() ** 4),
    hex: (length) => `0x${Buffer.from(bytes(length)).toString('hex')}`,
    bytes,
  }
}
