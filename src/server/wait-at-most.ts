/** Waits for the promise, but not longer than the limit. Rejects if the promise rejects before the limit. */
export async function waitAtMost(limitMs: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  await Promise.race([promise, limit]).finally(() => clearTimeout(timer))
}
