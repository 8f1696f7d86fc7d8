/** What the seller's code answers, or `late()` if it takes longer. It may go on working, and nobody listens any more. */
export async function inTime<T>(answer: Promise<T>, timeoutMs: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), timeoutMs)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Why an answer that did not come in time counts as failed. */
export const tookTooLong = (who: string, timeoutMs: number): string =>
  `${who} did not answer within ${timeoutMs / 1000} s`
