/** Why a payment cannot go on, in words for the person who pays. */
export class Problem extends Error {}

export function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message
  // Wallets reject with plain objects as well.
  const message = (error as { message?: unknown } | null)?.message
  return typeof message === 'string' ? message : 'an unknown fault'
}
