import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that something still holds. Resident memory would also count garbage that nobody has fetched yet. */
export function heldBytes(): number {
  // Memory outside the heap is freed after a collection, beside the program; the next one waits for that.
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
