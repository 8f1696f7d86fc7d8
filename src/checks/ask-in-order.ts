/** The answer of the first RPC that has one; each gets its share of the time. Rejects as the last one did. */
export async function askInOrder<T>(
  rpcUrls: readonly string[],
  limitMs: number,
  ask: (rpcUrl: string, timeoutMs: number) => Promise<T>,
): Promise<T> {
  let failure: unknown
  for (const rpcUrl of rpcUrls) {
    try {
      return await ask(rpcUrl, limitMs / rpcUrls.length)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}
