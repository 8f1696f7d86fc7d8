/** A handler that has not answered after so many renewals is given up. */
const MAX_RENEWALS = 60

/** A slow handler must not be run again, or its payment sent back, while it works. */
export function keepLease(renew: () => Promise<boolean>, leaseMs: number): () => void {
  let renewals = 0
  const timer = setInterval(async () => {
    // A store that is away keeps the lease as it is; the next turn asks again.
    const held = await renew().catch(() => true)
    if (!held || ++renewals >= MAX_RENEWALS) clearInterval(timer)
  }, leaseMs / 3).unref()
  return () => clearInterval(timer)
}
