import type { Cell } from './cells.ts'
import { median } from './load.ts'

/**
 * How often the rate of one cell is that of another. Cells that were measured in the same turns are compared turn by turn,
 * and the median of these ratios counts: what the machine did in a turn struck both.
 */
export function ratioOf(one: Cell, other: Cell): number {
  const { turns = [] } = one
  const others = other.turns ?? []
  if (turns.length === 0 || turns.length !== others.length) return one.perSecond / other.perSecond
  return median(turns.map((rate, turn) => rate / others[turn]!))
}
