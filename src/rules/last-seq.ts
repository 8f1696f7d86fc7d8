interface Log {
  log(afterSeq: number, limit: number): Promise<readonly unknown[]>
}

/** The seq of the last entry of the log, found with a few queries. `known`: it is not before this. */
export async function lastSeq(store: Log, known = 0): Promise<number> {
  const isBeyond = async (seq: number): Promise<boolean> => (await store.log(seq, 1)).length === 0
  if (await isBeyond(known)) return known
  let step = 1024
  while (!(await isBeyond(known + step))) step *= 2
  let high = known + step
  let low = known
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await isBeyond(middle)) high = middle
    else low = middle
  }
  return high
}
