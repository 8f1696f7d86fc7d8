import { type DevChain, startDevChain } from './dev-chain.ts'

/**
 * Starts several local chains at once, in the order of `chainIds`. `account(0)` to `account(49)` have the same keys on
 * each of them, and each chain has its own USDC. If one cannot start, none stays.
 *
 * @example
 * import { startFacilitator } from 'paystile/testing'
 *
 * const chains = await startDevChains([84532, 421614])
 * const facilitator = await startFacilitator({ chains })
 * const [base, arbitrum] = chains
 * const buyer = await base!.newBuyer({ micro: 5_000_000n })
 * await arbitrum!.mint(buyer.address, 1_000_000n)
 * await facilitator.stop()
 * await Promise.all(chains.map((chain) => chain.stop()))
 */
export async function startDevChains(
  chainIds: readonly number[],
  options: { blockTimeSeconds?: number } = {},
): Promise<DevChain[]> {
  const twice = chainIds.find((id, index) => chainIds.indexOf(id) !== index)
  if (twice !== undefined) throw new Error(`startDevChains: chain id ${twice} is given twice.`)
  const starts = await Promise.allSettled(chainIds.map((chainId) => startDevChain({ ...options, chainId })))
  const chains = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  const failed = starts.find((start) => start.status === 'rejected')
  if (!failed) return chains
  await Promise.all(chains.map((chain) => chain.stop()))
  throw failed.reason
}
